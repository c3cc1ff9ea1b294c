use async_trait::async_trait;
use contracts::{Event, OrderId, StockRejected, StockReleased, StockReserved};
use crash_points::crash_point;
use inbox::{Handler, Unreadable, Verdict, json_body};
use sea_orm::ActiveValue::Set;
use sea_orm::{DatabaseTransaction, DbErr};
use transport::Message;

use crate::cancel_order::{change_status, lock_order};
use crate::entity::orders::{Model, Rejection, Stored};

/// Learns from inventory what became of an order.
pub(crate) struct StockResults;

/// What inventory may tell.
pub(crate) enum StockEvent {
    Reserved(StockReserved),
    Rejected(StockRejected),
    Released(StockReleased),
}

#[async_trait]
impl Handler for StockResults {
    type Event = StockEvent;

    fn decode(&self, message: &Message) -> Result<StockEvent, Unreadable> {
        match message.properties.kind.as_deref() {
            Some(StockReserved::TYPE) => json_body(message, 1).map(StockEvent::Reserved),
            Some(StockRejected::TYPE) => json_body(message, 1).map(StockEvent::Rejected),
            Some(StockReleased::TYPE) => json_body(message, 1).map(StockEvent::Released),
            other => Err(Unreadable::unknown_type(other)),
        }
    }

    async fn handle(&self, tx: &DatabaseTransaction, event: &StockEvent) -> Result<Verdict, DbErr> {
        let order_id = event.order_id();
        let Some(order) = lock_order(tx, order_id).await? else {
            return Ok(Verdict::Retry(format!("order {order_id} is not known here")));
        };
        if let Some((status, rejection)) = next_status(&order, event) {
            change_status(tx, order, |row| {
                row.status = Set(status);
                row.rejection = Set(rejection);
            })
            .await?;
        }
        crash_point!("C20"); // status changed: rolled back with the inbox row
        Ok(Verdict::Ack)
    }
}

/// The order's states. An answer that comes too late for the state changes nothing: while an order
/// is being cancelled, only `StockReleased` counts. That one counts in every state that still hopes
/// for stock, so that the two services always come to agree, whoever sent the cancel.
fn next_status(order: &Model, event: &StockEvent) -> Option<(Stored, Option<Rejection>)> {
    match (order.status, event) {
        (Stored::Placed, StockEvent::Reserved(_)) => Some((Stored::Confirmed, None)),
        (Stored::Placed, StockEvent::Rejected(rejected)) => {
            let rejection =
                Rejection { reason: rejected.reason, shortages: rejected.shortages.clone() };
            Some((Stored::Rejected, Some(rejection)))
        }
        (Stored::Placed | Stored::Confirmed | Stored::Cancelling, StockEvent::Released(_)) => {
            Some((Stored::Cancelled, None))
        }
        _ => None,
    }
}

impl StockEvent {
    fn order_id(&self) -> OrderId {
        match self {
            Self::Reserved(event) => event.order_id,
            Self::Rejected(event) => event.order_id,
            Self::Released(event) => event.order_id,
        }
    }
}
