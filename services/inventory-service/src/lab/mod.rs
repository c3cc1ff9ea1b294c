//! The inventory service as the lab runs it: the same reservation, a text message to the customer, and the
//! mistakes that `MISTAKES` names. Not in production builds.

mod inbox_forgets_too_soon;
mod no_version_order;
mod take_again;
mod text_message;
mod text_message_without_key;

use std::sync::Arc;

use async_trait::async_trait;
use contracts::ORDER_EVENTS_QUEUE;
use inbox::{Cleaner, Consumer, Handler, RetentionOptions, Unreadable, Verdict};
use mistakes::{Mistake, Mistakes, ack_before_commit, textbook};
use sea_orm::{DatabaseTransaction, DbErr};
use service_kit::health::Health;
use service_kit::tasks::Tasks;
use service_kit::{program, server, telemetry};
use transport::Message;

use crate::order_events::{OrderEvent, OrderEvents, TracedEvent};
use crate::{NAME, Settings, api};
use text_message::Gateway;

/// Runs the service until it is told to stop.
///
/// # Errors
/// A setting is invalid, or the port is taken.
pub async fn run(settings: Settings) -> anyhow::Result<()> {
    telemetry::start(&settings.log, NAME)?;
    let mistakes = Mistakes::from_environment()?;
    let shutdown = program::shutdown_token(&settings.life);
    let (db, consumer_db) = (settings.database.pool(NAME)?, settings.database.pool(NAME)?);
    let mut transport =
        settings.broker.transport(contracts::topology(), settings.broker.options(NAME))?;
    if mistakes.has(Mistake::AckBeforeCommit) {
        transport = ack_before_commit::transport(transport);
    }
    let listener = server::bind(settings.http_addr).await?;

    let relays = outbox::hint_sender(&consumer_db, shutdown.clone());
    let handler = Arc::new(LabHandler {
        events: OrderEvents { relays },
        gateway: Gateway::from_environment(&mistakes),
        mistakes: mistakes.clone(),
    });
    let mut tasks = Tasks::new(shutdown.clone());
    let retention = match mistakes.has(Mistake::InboxForgetsTooSoon) {
        true => inbox_forgets_too_soon::RETENTION,
        false => settings.retention.inbox(),
    };
    let retention = RetentionOptions { retention, ..RetentionOptions::default() };
    let cleaner = Cleaner::new(consumer_db.clone(), NAME, retention);
    // Once at the start, and only then: an experiment that wants it starts the service again.
    cleaner.run_once().await?;

    let mut health = Health::default().requires_table(&db, "stock_items");
    if mistakes.has_any(&textbook::REPLACES_THE_REAL_ONE_FOR) {
        let consumer = textbook::Consumer {
            db: consumer_db,
            transport,
            handler,
            name: NAME,
            queue: ORDER_EVENTS_QUEUE,
            mistakes,
        };
        tasks.start("consumer", consumer.run(shutdown.clone()));
    } else {
        let options = settings.consumer.options(NAME, ORDER_EVENTS_QUEUE);
        let consumer = Consumer::new(consumer_db, transport, handler, options);
        health = health.requires_link("broker", consumer.health().broker);
        tasks.start("consumer", consumer.run(shutdown.clone()));
    }
    let router =
        api::router(api::Api { db, admin: settings.admin.token()? }).merge(health.router());
    server::announce(&listener, NAME);
    tasks.beside(server::serve(listener, router, shutdown)).await
}

/// The service's own handler, or what mistakes make of it; then a text message to the customer.
struct LabHandler {
    events: OrderEvents,
    gateway: Option<Gateway>,
    mistakes: Mistakes,
}

#[async_trait]
impl Handler for LabHandler {
    type Event = TracedEvent;

    fn decode(&self, message: &Message) -> Result<TracedEvent, Unreadable> {
        self.events.decode(message)
    }

    async fn handle(
        &self,
        tx: &DatabaseTransaction,
        traced: &TracedEvent,
    ) -> Result<Verdict, DbErr> {
        let verdict = match &traced.event {
            OrderEvent::Placed(placed) if take_again::applies(&self.mistakes) => {
                take_again::reserve(tx, placed, &traced.trace).await?
            }
            OrderEvent::Cancelled(cancelled) if self.mistakes.has(Mistake::NoVersionOrder) => {
                no_version_order::release(tx, cancelled, &traced.trace).await?
            }
            _ => self.events.handle(tx, traced).await?,
        };
        if let (OrderEvent::Placed(placed), Some(gateway)) = (&traced.event, &self.gateway) {
            gateway.tell(placed.order_id).await;
        }
        Ok(verdict)
    }

    fn committed(&self) {
        self.events.committed();
    }
}
