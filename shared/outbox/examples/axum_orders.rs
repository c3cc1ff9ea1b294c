//! An outbox in a service of axum and SeaORM. It needs no servers: database and broker are files of
//! SQLite. It serves one request, shows what another service gets of it, and ends.

use std::sync::Arc;

use async_trait::async_trait;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use database::{Hint, PoolSettings, begin_write};
use outbox::schema::Step;
use outbox::{Cleaner, NewMessage, Relay, RelayOptions, RetentionOptions};
use sea_orm::ActiveValue::Set;
use sea_orm::{ActiveModelTrait, DatabaseConnection, DbErr};
use sea_orm_migration::{MigrationName, MigrationTrait, MigratorTrait, SchemaManager};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use transport::{Queue, Settlement, Topology, Transport, TransportOptions};

/// A table of the service, as it was before the outbox came.
mod orders {
    use sea_orm::entity::prelude::*;

    /// An order.
    #[derive(Clone, Debug, PartialEq, DeriveEntityModel, serde::Serialize)]
    #[sea_orm(table_name = "orders")]
    pub(crate) struct Model {
        /// Its number.
        #[sea_orm(primary_key)]
        pub(crate) id: i64,
        /// What.
        pub(crate) item: String,
        /// Counts its changes.
        pub(crate) version: i64,
    }

    /// None.
    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub(crate) enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

#[derive(Clone)]
struct Shop {
    db: DatabaseConnection,
    relay: Hint,
}

#[derive(serde::Deserialize)]
struct NewOrder {
    item: String,
}

// ANCHOR: writer
async fn place(
    State(shop): State<Shop>,
    Json(new): Json<NewOrder>,
) -> Result<(StatusCode, Json<orders::Model>), StatusCode> {
    // In a task: a client that hangs up drops this handler, and must not drop a transaction with it.
    let placing = tokio::spawn(async move { place_order(&shop, new).await });
    match placing.await {
        Ok(Ok(order)) => Ok((StatusCode::CREATED, Json(order))),
        _ => Err(StatusCode::SERVICE_UNAVAILABLE),
    }
}

async fn place_order(shop: &Shop, new: NewOrder) -> anyhow::Result<orders::Model> {
    let tx = begin_write(&shop.db).await?;
    let order = orders::ActiveModel { item: Set(new.item), version: Set(1), ..Default::default() };
    let order = order.insert(&tx).await?; // your change
    let message = NewMessage::new("Order", order.id, order.version, "OrderPlaced", &order)?;
    outbox::append(&tx, message).await?; // takes a transaction, never a connection
    tx.commit().await?;
    shop.relay.give(); // "look now"; if it is lost, the relay's poll finds the row
    Ok(order)
}
// ANCHOR_END: writer

// ANCHOR: relay
/// Starts a relay and a cleaner beside it. They may as well be a process of their own.
fn start_relay(
    db: &DatabaseConnection,
    broker: Arc<dyn Transport>,
    stop: &CancellationToken,
) -> anyhow::Result<(Hint, tokio::task::JoinHandle<()>)> {
    let options = RelayOptions { app_id: "shop".to_owned(), ..RelayOptions::default() };
    let relay = Relay::new(db.clone(), broker, options)?;
    let hint = relay.hint();
    let relaying = tokio::spawn(relay.run(stop.clone()));
    let cleaner = Cleaner::new(db.clone(), RetentionOptions::default())?;
    tokio::spawn(cleaner.run(stop.clone()));
    Ok((hint, relaying))
}
// ANCHOR_END: relay

// ANCHOR: migrations
/// The service's own migrations, and one for each step of the outbox.
struct Migrator;

impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![
            Box::new(CreateOrders),
            Box::new(OutboxTables("m20260102_000000_outbox_create", Step::Create)),
            Box::new(OutboxTables("m20260102_000100_outbox_operate", Step::Operate)),
        ]
    }
}

struct OutboxTables(&'static str, Step);

impl MigrationName for OutboxTables {
    fn name(&self) -> &str {
        self.0
    }
}

#[async_trait]
impl MigrationTrait for OutboxTables {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        self.1.up(manager.get_connection()).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        self.1.down(manager.get_connection()).await
    }
}
// ANCHOR_END: migrations

struct CreateOrders;

impl MigrationName for CreateOrders {
    fn name(&self) -> &'static str {
        "m20260101_000000_create_orders"
    }
}

#[async_trait]
impl MigrationTrait for CreateOrders {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let columns = "id IDENTITY, item text NOT NULL, version bigint NOT NULL";
        database::create_table(manager.get_connection(), "orders", columns).await
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let url = |name| format!("sqlite://{}", folder.path().join(name).display());
    let pool = PoolSettings { application_name: "shop".to_owned(), max_connections: 10 };
    let db = database::connect(&url("shop.db"), &pool)?;
    Migrator::up(&db, None).await?;
    let topology = Topology {
        exchange: "shop.events".to_owned(),
        dead_letter_exchange: "shop.dead-letters".to_owned(),
        queues: vec![Queue::new("shipping.orders", "order.*")],
    };
    // `amqp://…` is RabbitMQ, `postgres://…` above is PostgreSQL: nothing else changes.
    let broker = transport::connect(&url("broker.db"), topology, TransportOptions::default())?;

    let stop = CancellationToken::new();
    let (relay, relaying) = start_relay(&db, broker.clone(), &stop)?;
    let router =
        Router::new().route("/orders", post(place)).with_state(Shop { db: db.clone(), relay });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let orders = format!("http://{}/orders", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, router).await });

    let order = serde_json::json!({"item": "lamp"});
    let answer = reqwest::Client::new().post(orders).json(&order).send().await?;
    println!("POST /orders: {}", answer.status());

    // The other service.
    let mut shipping = broker.consumer("shipping.orders", 1).await?;
    let delivery = shipping.next().await?;
    let message = delivery.message.clone();
    delivery.settle(Settlement::Ack).await?;
    let kind = message.properties.kind.unwrap_or_default();
    println!("shipping.orders: {kind} {}", String::from_utf8_lossy(&message.body));
    for name in ["aggregate-type", "aggregate-id", "aggregate-version", "cloudEvents:source"] {
        println!("  {name}: {}", message.headers[name]);
    }

    stop.cancel();
    relaying.await?; // it finishes what it has begun
    let rows = outbox::counts(&db).await?;
    println!("outbox: {} pending, {} sent", rows.pending, rows.sent);
    Ok(())
}
