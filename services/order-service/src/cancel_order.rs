use chrono::Utc;
use contracts::{Event, ORDER_AGGREGATE, OrderCancelled, OrderId};
use database::begin_write;
use outbox::NewMessage;
use sea_orm::ActiveValue::Set;
use sea_orm::{
    ActiveModelTrait, DatabaseConnection, DatabaseTransaction, DbErr, EntityTrait, IntoActiveModel,
    QuerySelect,
};
use transport::Trace;

use crate::entity::orders;
use crate::order_status;

#[derive(Debug, thiserror::Error)]
pub(crate) enum CancelOrderError {
    #[error("no such order")]
    NotFound,
    #[error("the order can't be cancelled: it is {0}")]
    NotCancellable(&'static str),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Database(#[from] DbErr),
}

/// Asks for an order to be undone. It is cancelled once inventory has let go of the stock.
pub(crate) async fn cancel_order(
    db: &DatabaseConnection,
    order_id: OrderId,
    trace: &Trace,
) -> Result<(), CancelOrderError> {
    let tx = begin_write(db).await?;
    let order = lock_order(&tx, order_id).await?.ok_or(CancelOrderError::NotFound)?;
    let status = order_status::after_cancel(order.status);
    let status =
        status.map_err(|order_status::NotCancellable(is)| CancelOrderError::NotCancellable(is))?;
    let event_version = order.event_version + 1;
    change_status(&tx, order, |row| {
        row.status = Set(status);
        row.event_version = Set(event_version);
    })
    .await?;
    let event = OrderCancelled { order_id, cancelled_at: Utc::now() };
    let message =
        NewMessage::new(ORDER_AGGREGATE, order_id, event_version, OrderCancelled::TYPE, &event)?;
    outbox::append(&tx, message.trace(trace)).await?;
    tx.commit().await?;
    Ok(())
}

/// Reads an order and keeps others from changing it until the transaction ends. With the row
/// locked first, the order of its events in the outbox is the order of their commits.
pub(crate) async fn lock_order(
    tx: &DatabaseTransaction,
    order_id: OrderId,
) -> Result<Option<orders::Model>, DbErr> {
    orders::Entity::find_by_id(order_id).lock_exclusive().one(tx).await
}

/// Changes a locked order.
pub(crate) async fn change_status(
    tx: &DatabaseTransaction,
    order: orders::Model,
    change: impl FnOnce(&mut orders::ActiveModel),
) -> Result<(), DbErr> {
    let version = order.version + 1;
    let mut row = order.into_active_model();
    row.version = Set(version);
    row.updated_at = Set(Utc::now());
    change(&mut row);
    row.update(tx).await?;
    Ok(())
}
