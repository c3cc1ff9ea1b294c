//! A cancel is handled as it comes, and forgotten when there is nothing to cancel. When it comes before its
//! order (a replay, a second consumer, a shovel), the order is reserved after its end.

use contracts::OrderCancelled;
use inbox::Verdict;
use sea_orm::{DatabaseTransaction, DbErr, EntityTrait};
use transport::Trace;

use crate::entity::reservations;
use crate::release;

pub(super) async fn release(
    tx: &DatabaseTransaction,
    order: &OrderCancelled,
    trace: &Trace,
) -> Result<Verdict, DbErr> {
    if reservations::Entity::find_by_id(order.order_id).one(tx).await?.is_some() {
        release::release(tx, order, trace).await?;
    }
    Ok(Verdict::Ack)
}
