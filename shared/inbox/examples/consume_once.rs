//! An inbox in a consumer. It needs no servers: database and broker are files of SQLite. The same
//! message is published twice, its effect happens once.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use database::{Dialect, PoolSettings};
use inbox::schema::Step;
use inbox::{Consumer, ConsumerOptions, Handler, Unreadable, Verdict, json_body};
use sea_orm::{ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr};
use sea_orm_migration::{MigrationName, MigrationTrait, MigratorTrait, SchemaManager};
use tokio_util::sync::CancellationToken;
use transport::{Message, MessageId, Properties, Queue, Topology, TransportOptions};

// ANCHOR: handler
#[derive(serde::Deserialize)]
struct InvoicePaid {
    account: String,
    cents: i64,
}

#[async_trait]
impl Handler for Ledger {
    type Event = InvoicePaid;

    fn decode(&self, message: &Message) -> Result<InvoicePaid, Unreadable> {
        match message.properties.kind.as_deref() {
            Some("InvoicePaid") => json_body(message, 1), // the schema version that we understand
            other => Err(Unreadable::unknown_type(other)),
        }
    }

    async fn handle(
        &self,
        tx: &DatabaseTransaction,
        event: &InvoicePaid,
    ) -> Result<Verdict, DbErr> {
        let sql = "UPDATE accounts SET cents = cents + $1 WHERE id = $2";
        let values = [event.cents.into(), event.account.as_str().into()];
        match tx.execute_raw(Dialect::of(tx).statement(sql, values)).await?.rows_affected() {
            1 => Ok(Verdict::Ack),
            _ => Ok(Verdict::Retry(format!("account {} is not known here", event.account))),
        }
    }

    fn committed(&self) {
        // Where a service wakes the relay of its own outbox. Here: enough seen, stop.
        if self.commits.fetch_add(1, Ordering::SeqCst) + 1 == self.wanted {
            self.stop.cancel();
        }
    }
}
// ANCHOR_END: handler

struct Ledger {
    commits: AtomicUsize,
    wanted: usize,
    stop: CancellationToken,
}

// ANCHOR: migrations
/// The service's own migrations, and one for each step of the inbox.
struct Migrator;

impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![
            Box::new(CreateAccounts),
            Box::new(InboxTables("m20260102_000000_inbox_create", Step::Create)),
            Box::new(InboxTables("m20260102_000100_inbox_operate", Step::Operate)),
        ]
    }
}

struct InboxTables(&'static str, Step);

impl MigrationName for InboxTables {
    fn name(&self) -> &str {
        self.0
    }
}

#[async_trait]
impl MigrationTrait for InboxTables {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        self.1.up(manager.get_connection()).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        self.1.down(manager.get_connection()).await
    }
}
// ANCHOR_END: migrations

struct CreateAccounts;

impl MigrationName for CreateAccounts {
    fn name(&self) -> &'static str {
        "m20260101_000000_create_accounts"
    }
}

#[async_trait]
impl MigrationTrait for CreateAccounts {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        let columns = "id text PRIMARY KEY, cents bigint NOT NULL";
        database::create_table(db, "accounts", columns).await?;
        db.execute_unprepared("INSERT INTO accounts VALUES ('a-1', 0)").await.map(|_| ())
    }
}

fn paid(cents: i64) -> Message {
    Message {
        routing_key: "invoice.paid".to_owned(),
        properties: Properties {
            message_id: Some(MessageId::generate().to_string()),
            kind: Some("InvoicePaid".to_owned()),
            ..Properties::default()
        },
        body: format!(r#"{{"account": "a-1", "cents": {cents}}}"#).into_bytes(),
        ..Message::default()
    }
}

async fn number(db: &DatabaseConnection, sql: &str) -> anyhow::Result<i64> {
    let row = db.query_one_raw(Dialect::of(db).statement(sql, [])).await?;
    Ok(row.ok_or_else(|| anyhow::anyhow!("no row"))?.try_get("", "n")?)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let url = |name| format!("sqlite://{}", folder.path().join(name).display());
    let pool = PoolSettings { application_name: "ledger".to_owned(), max_connections: 10 };
    let db = database::connect(&url("ledger.db"), &pool)?;
    Migrator::up(&db, None).await?;
    let topology = Topology {
        exchange: "billing.events".to_owned(),
        dead_letter_exchange: "billing.dead-letters".to_owned(),
        queues: vec![Queue::new("ledger.invoices", "invoice.*")],
    };
    // `amqp://…` is RabbitMQ, `postgres://…` above is PostgreSQL: nothing else changes.
    let broker = transport::connect(&url("broker.db"), topology, TransportOptions::default())?;

    let (first, last) = (paid(500), paid(1));
    let published = broker.publisher().await?.publish(&[first.clone(), first, last]).await;
    println!("published: 500 cents, the same message again, 1 cent: {:?}", published.outcomes);

    let stop = CancellationToken::new();
    let ledger = Ledger { commits: AtomicUsize::new(0), wanted: 2, stop: stop.clone() };
    // ANCHOR: run
    let options = ConsumerOptions::new("ledger", "ledger.invoices"); // its name in the inbox, its queue
    Consumer::new(db.clone(), broker.clone(), ledger, options).run(stop).await;
    // ANCHOR_END: run

    let depths = broker.depths().await?;
    let left: u64 = depths.iter().map(|queue| queue.ready + queue.unacked.unwrap_or(0)).sum();
    println!("left in the queues: {left}");
    println!(
        "known to the inbox: {}",
        number(&db, "SELECT COUNT(*) AS n FROM inbox_messages").await?
    );
    println!("on the account: {} cents", number(&db, "SELECT cents AS n FROM accounts").await?);
    Ok(())
}
