//! The one row for each order that says what was decided, and the replies about it.

use chrono::Utc;
use contracts::{Event, OrderId, RESERVATION_AGGREGATE};
use outbox::NewMessage;
use sea_orm::ActiveValue::Set;
use sea_orm::{
    ActiveModelTrait, DatabaseTransaction, DbErr, EntityTrait, QuerySelect, TryInsertResult,
};
use transport::Trace;

use crate::entity::reservations::{ActiveModel, Entity, Model, Status};

/// Records the first decision about an order. False when there is one already. A second
/// transaction for the same order waits here for the first one's commit.
pub(crate) async fn record(
    tx: &DatabaseTransaction,
    order_id: OrderId,
    status: Status,
) -> Result<bool, DbErr> {
    let now = Utc::now();
    let row = ActiveModel {
        order_id: Set(order_id),
        status: Set(status),
        event_version: Set(1),
        created_at: Set(now),
        updated_at: Set(now),
    };
    let inserted = Entity::insert(row).on_conflict_do_nothing().exec(tx).await?;
    Ok(matches!(inserted, TryInsertResult::Inserted(_)))
}

/// Reads the decision and keeps it from changing until the transaction ends.
pub(crate) async fn lock(tx: &DatabaseTransaction, order_id: OrderId) -> Result<Model, DbErr> {
    let found = Entity::find_by_id(order_id).lock_exclusive().one(tx).await?;
    found.ok_or_else(|| DbErr::RecordNotFound(format!("reservation of {order_id}")))
}

/// Changes the decision, together with the version of the event about it.
pub(crate) async fn change(
    tx: &DatabaseTransaction,
    order_id: OrderId,
    status: Status,
    event_version: i64,
) -> Result<(), DbErr> {
    let row = ActiveModel {
        order_id: Set(order_id),
        status: Set(status),
        event_version: Set(event_version),
        updated_at: Set(Utc::now()),
        ..Default::default()
    };
    row.update(tx).await?;
    Ok(())
}

/// Writes an event about the decision into the outbox, as the next step of the trace.
pub(crate) async fn reply<E: Event>(
    tx: &DatabaseTransaction,
    order_id: OrderId,
    version: i64,
    event: &E,
    trace: &Trace,
) -> Result<(), DbErr> {
    let message = NewMessage::new(RESERVATION_AGGREGATE, order_id, version, E::TYPE, event)
        .map_err(|error| DbErr::Json(error.to_string()))?;
    outbox::append(tx, message.trace(trace)).await?;
    Ok(())
}
