use async_trait::async_trait;
use contracts::{Event, OrderId, StockRejected, StockReleased, StockReserved};
use crash_points::crash_point;
use inbox::{Handler, Unreadable, Verdict, json_body};
use sea_orm::ActiveValue::Set;
use sea_orm::{DatabaseTransaction, DbErr};
use transport::Message;

use crate::cancel_order::{change_status, lock_order};
use crate::order_status;

/// Learns from inventory what became of an order.
pub(crate) struct StockResults;

/// What inventory may tell.
#[derive(Debug, Clone)]
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
        if let Some((status, rejection)) = order_status::after(order.status, event) {
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

impl StockEvent {
    fn order_id(&self) -> OrderId {
        match self {
            Self::Reserved(event) => event.order_id,
            Self::Rejected(event) => event.order_id,
            Self::Released(event) => event.order_id,
        }
    }
}
