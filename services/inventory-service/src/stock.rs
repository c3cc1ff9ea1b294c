//! Stock and reservations: as clients see and set them, and locked for those who change them.

use contracts::{OrderId, Sku};
use database::begin_write;
use sea_orm::ActiveValue::Set;
use sea_orm::{
    ActiveModelTrait, ColumnTrait, DatabaseConnection, DatabaseTransaction, DbErr, EntityTrait,
    IntoActiveModel, QueryFilter, QueryOrder, QuerySelect, TryInsertResult,
};
use serde::Serialize;

use crate::entity::reservations::Status;
use crate::entity::{reservation_lines, reservations, stock_items};

/// A reservation as clients see it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReservationView {
    order_id: OrderId,
    status: Status,
    lines: Vec<LineView>,
}

#[derive(Debug, Serialize)]
struct LineView {
    sku: Sku,
    quantity: i64,
}

/// What became of a wish to set the stock.
pub(crate) enum SetStock {
    Created(stock_items::Model),
    Changed(stock_items::Model),
    /// So many are promised to orders.
    BelowReserved(i64),
}

/// Stock by SKU.
pub(crate) async fn list(
    db: &DatabaseConnection,
    after: Option<Sku>,
    limit: u64,
) -> Result<Vec<stock_items::Model>, DbErr> {
    let mut query = stock_items::Entity::find();
    if let Some(after) = after {
        query = query.filter(stock_items::Column::Sku.gt(after));
    }
    query.order_by_asc(stock_items::Column::Sku).limit(limit).all(db).await
}

/// One item.
pub(crate) async fn find(
    db: &DatabaseConnection,
    sku: Sku,
) -> Result<Option<stock_items::Model>, DbErr> {
    stock_items::Entity::find_by_id(sku).one(db).await
}

/// Locks the stock rows of an order, always in the order of their SKUs: two orders for the same
/// SKUs queue up instead of waiting for each other.
pub(crate) async fn lock(
    tx: &DatabaseTransaction,
    skus: impl IntoIterator<Item = Sku>,
) -> Result<Vec<stock_items::Model>, DbErr> {
    stock_items::Entity::find()
        .filter(stock_items::Column::Sku.is_in(skus))
        .order_by_asc(stock_items::Column::Sku)
        .lock_exclusive()
        .all(tx)
        .await
}

/// Sets how much is in the warehouse, never below what is reserved.
pub(crate) async fn set(
    db: &DatabaseConnection,
    sku: Sku,
    on_hand: i64,
) -> Result<SetStock, DbErr> {
    let tx = begin_write(db).await?;
    let new = stock_items::Model { sku: sku.clone(), on_hand, reserved: 0 };
    let inserted = stock_items::Entity::insert(new.clone().into_active_model().reset_all())
        .on_conflict_do_nothing()
        .exec(&tx)
        .await?;
    if let TryInsertResult::Inserted(_) = inserted {
        tx.commit().await?;
        return Ok(SetStock::Created(new));
    }
    let known = stock_items::Entity::find_by_id(sku).lock_exclusive().one(&tx).await?;
    let known = known.ok_or_else(|| DbErr::RecordNotFound("stock item".to_owned()))?;
    if on_hand < known.reserved {
        return Ok(SetStock::BelowReserved(known.reserved));
    }
    let mut row = known.into_active_model();
    row.on_hand = Set(on_hand);
    let changed = row.update(&tx).await?;
    tx.commit().await?;
    Ok(SetStock::Changed(changed))
}

/// What is, or was, reserved for an order.
pub(crate) async fn reservation(
    db: &DatabaseConnection,
    order_id: OrderId,
) -> Result<Option<ReservationView>, DbErr> {
    let found = reservations::Entity::find_by_id(order_id).one(db).await?;
    let Some(reservation) = found.filter(|found| found.status != Status::Rejected) else {
        return Ok(None);
    };
    let lines = reservation_lines::Entity::find()
        .filter(reservation_lines::Column::OrderId.eq(order_id))
        .order_by_asc(reservation_lines::Column::Sku)
        .all(db)
        .await?;
    let line = |row: reservation_lines::Model| LineView { sku: row.sku, quantity: row.quantity };
    Ok(Some(ReservationView {
        order_id,
        status: reservation.status,
        lines: lines.into_iter().map(line).collect(),
    }))
}
