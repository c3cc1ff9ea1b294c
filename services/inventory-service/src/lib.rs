//! The inventory service: reserves stock for orders and replies through its own outbox.
//!
//! Read `reserve.rs` for the effect, and the crate `inbox` for the transaction around it.

mod api;
mod decision;
mod entity;
#[cfg(feature = "lab")]
pub mod lab;
mod order_events;
mod release;
mod reserve;
mod settings;
mod stock;

use std::sync::Arc;

use contracts::ORDER_EVENTS_QUEUE;
use inbox::parked::Replayer;
use inbox::{Cleaner, Consumer, RetentionOptions};
use service_kit::admin::parked_messages;
use service_kit::health::Health;
use service_kit::metrics::{Links, Metrics};
use service_kit::tasks::Tasks;
use service_kit::{program, server, telemetry};

pub use settings::{Invocation, Settings};

/// Its name in the inbox, in logs and at the broker.
const NAME: &str = "inventory-service";

/// Runs the service until it is told to stop.
///
/// # Errors
/// A setting is invalid, the port is taken, or a task has panicked. Absent servers are no error: it waits for them.
pub async fn run(settings: Settings) -> anyhow::Result<()> {
    telemetry::start(&settings.log, NAME)?;
    let shutdown = program::shutdown_token(&settings.life);
    // Two pools: requests that wait for connections must not keep orders from being received.
    let (db, consumer_db) = (settings.database.pool(NAME)?, settings.database.pool(NAME)?);
    let options = settings.broker.options(NAME);
    let transport = settings.broker.transport(contracts::topology(), options)?;
    let listener = server::bind(settings.http_addr).await?;

    let relays = outbox::hint_sender(&consumer_db, shutdown.clone());
    let handler = Arc::new(order_events::OrderEvents { relays });
    let options = settings.consumer.options(NAME, ORDER_EVENTS_QUEUE);
    let retention = RetentionOptions {
        retention: settings.retention.inbox(),
        window: settings.retention.window(),
        ..RetentionOptions::default()
    };
    let cleaner = Cleaner::new(consumer_db.clone(), NAME, retention);
    let replayer = Replayer::new(db.clone(), handler.clone(), NAME);
    let consumer = Consumer::new(consumer_db, transport, handler, options);
    let health = Health::default()
        .requires_table(&db, "stock_items")
        .shows_link("broker", consumer.health().broker);
    let metrics = Metrics::default()
        .source(consumer.counts())
        .source(Links { broker: consumer.health().broker, database: consumer.health().database });
    let admin = settings.admin.token()?;
    let router = api::router(api::Api { db, admin: admin.clone() })
        .merge(parked_messages(replayer, admin, settings.retention.inbox()))
        .merge(health.router())
        .merge(metrics.router());

    let mut tasks = Tasks::new(shutdown.clone());
    tasks.start("consumer", consumer.run(shutdown.clone()));
    tasks.start("inbox cleaner", cleaner.run(shutdown.clone()));
    server::announce(&listener, "inventory-service");
    tasks.beside(server::serve(listener, router, shutdown)).await
}
