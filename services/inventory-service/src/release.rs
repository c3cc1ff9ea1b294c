use contracts::{OrderCancelled, OrderId, StockReleased};
use sea_orm::ActiveValue::Set;
use sea_orm::{
    ActiveModelTrait, ColumnTrait, DatabaseTransaction, DbErr, EntityTrait, IntoActiveModel,
    QueryFilter,
};
use transport::Trace;

use crate::entity::reservation_lines;
use crate::entity::reservations::Status;
use crate::{decision, stock};

/// Gives an order's stock back, if it has any, and says so.
pub(crate) async fn release(
    tx: &DatabaseTransaction,
    order: &OrderCancelled,
    trace: &Trace,
) -> Result<(), DbErr> {
    let order_id = order.order_id;
    // The cancel overtook its order: remember it, so that the order will reserve nothing.
    let version = if decision::record(tx, order_id, Status::Released).await? {
        1
    } else {
        let reservation = decision::lock(tx, order_id).await?;
        if reservation.status == Status::Released {
            return Ok(());
        }
        if reservation.status == Status::Reserved {
            give_back(tx, order_id).await?;
        }
        let version = reservation.event_version + 1;
        decision::change(tx, order_id, Status::Released, version).await?;
        version
    };
    let event = StockReleased { order_id };
    decision::reply(tx, order_id, version, &event, trace).await
}

async fn give_back(tx: &DatabaseTransaction, order_id: OrderId) -> Result<(), DbErr> {
    let lines = reservation_lines::Entity::find()
        .filter(reservation_lines::Column::OrderId.eq(order_id))
        .all(tx)
        .await?;
    let stock = stock::lock(tx, lines.iter().map(|line| line.sku.clone())).await?;
    for item in stock {
        let returned: i64 =
            lines.iter().filter(|line| line.sku == item.sku).map(|line| line.quantity).sum();
        let reserved = item.reserved - returned;
        let mut row = item.into_active_model();
        row.reserved = Set(reserved);
        row.update(tx).await?;
    }
    Ok(())
}
