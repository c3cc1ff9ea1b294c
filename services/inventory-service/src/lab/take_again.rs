//! An effect without a natural key, as most are: money is added, stock is taken, each time it is asked for.
//!
//! The shop's own reservation has a second net, one decision for each order. Where the lab takes away
//! the inbox, it takes that away too: else nobody would see what the inbox is for.

use contracts::OrderPlaced;
use crash_points::crash_point;
use inbox::Verdict;
use mistakes::{Mistake, Mistakes};
use sea_orm::ActiveValue::Set;
use sea_orm::{ActiveModelTrait, DatabaseTransaction, DbErr, EntityTrait, IntoActiveModel};
use transport::Trace;

use crate::entity::reservations;
use crate::entity::reservations::Status;
use crate::{decision, reserve, stock};

pub(super) fn applies(mistakes: &Mistakes) -> bool {
    mistakes.has_any(&[
        Mistake::NoInbox,
        Mistake::InboxInAnotherTransaction,
        Mistake::InboxForgetsTooSoon,
    ])
}

pub(super) async fn reserve(
    tx: &DatabaseTransaction,
    order: &OrderPlaced,
    trace: &Trace,
) -> Result<Verdict, DbErr> {
    let known = reservations::Entity::find_by_id(order.order_id).one(tx).await?;
    match known {
        Some(known) if known.status == Status::Reserved => take(tx, order).await?,
        _ => reserve::reserve(tx, order, trace).await?,
    }
    Ok(Verdict::Ack)
}

async fn take(tx: &DatabaseTransaction, order: &OrderPlaced) -> Result<(), DbErr> {
    decision::lock(tx, order.order_id).await?;
    let lines = order.lines.in_locking_order();
    for item in stock::lock(tx, lines.iter().map(|line| line.sku.clone())).await? {
        let wanted = lines.iter().filter(|line| line.sku == item.sku);
        let wanted: i64 = wanted.map(|line| i64::from(line.quantity)).sum();
        let reserved = item.reserved + wanted;
        let mut row = item.into_active_model();
        row.reserved = Set(reserved);
        row.update(tx).await?;
    }
    crash_point!("taken-again");
    Ok(())
}
