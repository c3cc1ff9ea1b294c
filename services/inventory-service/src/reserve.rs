use contracts::{Line, OrderPlaced, RejectionReason, Shortage, StockRejected, StockReserved};
use crash_points::crash_point;
use sea_orm::ActiveValue::Set;
use sea_orm::{ActiveModelTrait, DatabaseTransaction, DbErr, EntityTrait, IntoActiveModel};
use transport::Trace;

use crate::entity::reservations::Status;
use crate::entity::{reservation_lines, stock_items};
use crate::{decision, stock};

/// Reserves all lines of an order or none of them, and writes the reply into the outbox.
pub(crate) async fn reserve(
    tx: &DatabaseTransaction,
    order: &OrderPlaced,
    trace: &Trace,
) -> Result<(), DbErr> {
    // One decision for each order, ever. There is one already when the cancel overtook its order
    // (a reservation that is released before it was made), or when the order came under another message id.
    if !decision::record(tx, order.order_id, Status::Reserved).await? {
        return Ok(());
    }
    let lines = order.lines.in_locking_order();
    let stock = stock::lock(tx, lines.iter().map(|line| line.sku.clone())).await?;
    let shortages = shortages(&lines, &stock);
    if shortages.is_empty() {
        take(tx, order, &lines, stock).await?;
        crash_point!("C13"); // reserved, no reply yet: rolled back
        let event = StockReserved { order_id: order.order_id, lines: order.lines.clone() };
        decision::reply(tx, order.order_id, 1, &event, trace).await?;
    } else {
        decision::change(tx, order.order_id, Status::Rejected, 1).await?;
        let event = StockRejected {
            order_id: order.order_id,
            reason: reason(&shortages, &stock),
            shortages,
        };
        decision::reply(tx, order.order_id, 1, &event, trace).await?;
    }
    crash_point!("C14"); // reply written: rolled back with everything else
    Ok(())
}

fn shortages(lines: &[Line], stock: &[stock_items::Model]) -> Vec<Shortage> {
    let shortage = |line: &Line| {
        let item = stock.iter().find(|item| item.sku == line.sku);
        let (requested, available) =
            (line.quantity.into(), item.map_or(0, |item| item.available()));
        (item.is_none() || available < requested).then(|| Shortage {
            sku: line.sku.clone(),
            requested,
            available,
        })
    };
    lines.iter().filter_map(shortage).collect()
}

fn reason(shortages: &[Shortage], stock: &[stock_items::Model]) -> RejectionReason {
    let known = |shortage: &Shortage| stock.iter().any(|item| item.sku == shortage.sku);
    match shortages.iter().all(known) {
        true => RejectionReason::OutOfStock,
        false => RejectionReason::UnknownSku,
    }
}

async fn take(
    tx: &DatabaseTransaction,
    order: &OrderPlaced,
    lines: &[Line],
    stock: Vec<stock_items::Model>,
) -> Result<(), DbErr> {
    for item in stock {
        let Some(line) = lines.iter().find(|line| line.sku == item.sku) else {
            continue;
        };
        let reserved = item.reserved + i64::from(line.quantity);
        let mut row = item.into_active_model();
        row.reserved = Set(reserved);
        row.update(tx).await?;
    }
    let rows = lines.iter().map(|line| reservation_lines::ActiveModel {
        order_id: Set(order.order_id),
        sku: Set(line.sku.clone()),
        quantity: Set(line.quantity.into()),
    });
    reservation_lines::Entity::insert_many(rows).exec_without_returning(tx).await?;
    Ok(())
}
