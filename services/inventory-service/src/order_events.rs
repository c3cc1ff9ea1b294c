use async_trait::async_trait;
use contracts::{Event, OrderCancelled, OrderPlaced};
use database::HintSender;
use inbox::{Handler, Unreadable, Verdict, json_body};
use sea_orm::{DatabaseTransaction, DbErr};
use transport::{Message, Trace};

use crate::{release, reserve};

/// Reacts to what happens to orders.
pub(crate) struct OrderEvents {
    /// The reply is in our outbox: wake its relay.
    pub(crate) relays: HintSender,
}

/// What happened, and the trace that our reply goes on with.
pub(crate) struct TracedEvent {
    pub(crate) event: OrderEvent,
    pub(crate) trace: Trace,
}

pub(crate) enum OrderEvent {
    Placed(OrderPlaced),
    Cancelled(OrderCancelled),
}

#[async_trait]
impl Handler for OrderEvents {
    type Event = TracedEvent;

    fn decode(&self, message: &Message) -> Result<TracedEvent, Unreadable> {
        let event = match message.properties.kind.as_deref() {
            Some(OrderPlaced::TYPE) => json_body(message, 1).map(OrderEvent::Placed),
            Some(OrderCancelled::TYPE) => json_body(message, 1).map(OrderEvent::Cancelled),
            other => Err(Unreadable::unknown_type(other)),
        }?;
        Ok(TracedEvent { event, trace: Trace::continued(message) })
    }

    /// Runs inside the inbox transaction: reservation, stock and reply stand or fall with the inbox row.
    async fn handle(
        &self,
        tx: &DatabaseTransaction,
        TracedEvent { event, trace }: &TracedEvent,
    ) -> Result<Verdict, DbErr> {
        match event {
            OrderEvent::Placed(placed) => reserve::reserve(tx, placed, trace).await?,
            OrderEvent::Cancelled(cancelled) => release::release(tx, cancelled, trace).await?,
        }
        Ok(Verdict::Ack)
    }

    fn committed(&self) {
        self.relays.send();
    }
}
