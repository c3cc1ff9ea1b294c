//! The *dual write*: save the order, commit, then publish. When the process dies in between, or the
//! broker is away, the order is there and its message never will be: a *zombie record*.

use std::sync::Arc;

use contracts::OrderId;
use crash_points::crash_point;
use database::begin_write;
use mistakes::direct;
use sea_orm::DatabaseConnection;
use transport::Transport;

use super::{NotPlaced, order_placed};
use crate::idempotency::{self, Claim, IdempotencyKey};
use crate::new_order::NewOrder;
use crate::place_order::{PlaceOrderError, Placed, insert_order};

pub(super) async fn place_order(
    db: &DatabaseConnection,
    transport: &Arc<dyn Transport>,
    order: &NewOrder,
    key: Option<&IdempotencyKey>,
) -> Result<Placed, NotPlaced> {
    let order_id = OrderId::generate();
    crash_point!("C1");
    let tx = begin_write(db).await.map_err(PlaceOrderError::from)?;
    insert_order(&tx, order_id, order).await.map_err(PlaceOrderError::from)?;
    if let Some(known) = claimed(&tx, order, key, order_id).await? {
        return Ok(known);
    }
    crash_point!("C2");
    crash_point!("C3");
    tx.commit().await.map_err(PlaceOrderError::from)?;
    crash_point!("C5");
    let message = order_placed(order_id, order).map_err(PlaceOrderError::from)?;
    if let Err(error) = direct::publish(transport, message).await {
        // The order is committed: there is no way back, and none forward.
        tracing::debug!(%error, "the order is saved, its message is not sent");
    }
    Ok(Placed { order_id, replayed: false })
}

/// What the key says, as in the real transaction. `Some`: answered before.
pub(super) async fn claimed(
    tx: &sea_orm::DatabaseTransaction,
    order: &NewOrder,
    key: Option<&IdempotencyKey>,
    order_id: OrderId,
) -> Result<Option<Placed>, PlaceOrderError> {
    let Some(key) = key else {
        return Ok(None);
    };
    match idempotency::claim(tx, key, &order.hash()?, order_id).await? {
        Claim::Ours => Ok(None),
        Claim::Replay(order_id) => Ok(Some(Placed { order_id, replayed: true })),
        Claim::OtherRequest => Err(PlaceOrderError::KeyOfOtherOrder),
        Claim::Busy => Err(PlaceOrderError::KeyBusy),
    }
}
