use chrono::Utc;
use contracts::{Event, ORDER_AGGREGATE, OrderId, OrderPlaced};
use crash_points::crash_point;
use database::begin_write;
use outbox::NewMessage;
use sea_orm::ActiveValue::Set;
use sea_orm::{ActiveModelTrait, DatabaseConnection, DatabaseTransaction, DbErr, EntityTrait};
use transport::Trace;

use crate::entity::{order_lines, orders};
use crate::idempotency::{self, Claim, IdempotencyKey};
use crate::new_order::NewOrder;

/// An order that is durable, together with its message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placed {
    pub(crate) order_id: OrderId,
    /// True when an earlier request with the same key made it.
    pub(crate) replayed: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum PlaceOrderError {
    #[error("the Idempotency-Key was used for another order")]
    KeyOfOtherOrder,
    #[error("another request with this Idempotency-Key is still at work")]
    KeyBusy,
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Database(#[from] DbErr),
}

/// The order transaction: order, lines and message become durable together or not at all.
///
/// Never publish here, neither before the commit (a *ghost message*, when the commit fails) nor
/// after it (a *zombie record*, when the process dies in between). The relay publishes.
pub(crate) async fn place_order(
    db: &DatabaseConnection,
    order: &NewOrder,
    key: Option<&IdempotencyKey>,
    trace: &Trace,
) -> Result<Placed, PlaceOrderError> {
    let order_id = OrderId::generate();
    crash_point!("C1"); // no order; the retry with the same key creates one
    let tx = begin_write(db).await?;

    insert_order(&tx, order_id, order).await?;
    if let Some(key) = key {
        match idempotency::claim(&tx, key, &order.hash()?, order_id).await? {
            Claim::Ours => {}
            Claim::Replay(order_id) => return Ok(Placed { order_id, replayed: true }),
            Claim::OtherRequest => return Err(PlaceOrderError::KeyOfOtherOrder),
            Claim::Busy => return Err(PlaceOrderError::KeyBusy),
        }
    }
    crash_point!("C2"); // rolled back

    let event = OrderPlaced {
        order_id,
        customer_id: order.customer_id.clone(),
        lines: order.lines.clone(),
        placed_at: Utc::now(),
    };
    let message = NewMessage::new(ORDER_AGGREGATE, order_id, 1, OrderPlaced::TYPE, &event)?;
    outbox::append(&tx, message.trace(trace)).await?;
    crash_point!("C3"); // rolled back: nothing visible, nothing published

    tx.commit().await?; // C4: cut here, the client can't know; the retry with the same key tells
    crash_point!("C5"); // durable, unanswered; the retry replays the same 201
    Ok(Placed { order_id, replayed: false })
}

pub(crate) async fn insert_order(
    tx: &DatabaseTransaction,
    order_id: OrderId,
    order: &NewOrder,
) -> Result<(), DbErr> {
    let now = Utc::now();
    let row = orders::ActiveModel {
        id: Set(order_id),
        customer_id: Set(order.customer_id.clone()),
        status: Set(orders::Stored::Placed),
        rejection: Set(None),
        version: Set(1),
        event_version: Set(1),
        created_at: Set(now),
        updated_at: Set(now),
    };
    row.insert(tx).await?;
    let lines = (1..).zip(order.lines.as_slice()).map(|(line_no, line)| order_lines::ActiveModel {
        order_id: Set(order_id),
        line_no: Set(line_no),
        sku: Set(line.sku.clone()),
        quantity: Set(line.quantity.into()),
    });
    order_lines::Entity::insert_many(lines).exec_without_returning(tx).await?;
    Ok(())
}
