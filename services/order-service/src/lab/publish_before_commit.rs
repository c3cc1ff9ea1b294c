//! Publish first, then commit, "so that the message can't be forgotten". When the process dies in
//! between, or the commit fails, the message tells of an order that does not exist: a *ghost message*.

use std::sync::Arc;

use contracts::OrderId;
use crash_points::crash_point;
use database::begin_write;
use mistakes::direct;
use sea_orm::DatabaseConnection;
use transport::Transport;

use super::publish_after_commit::claimed;
use super::{NotPlaced, order_placed};
use crate::idempotency::IdempotencyKey;
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
    let message = order_placed(order_id, order).map_err(PlaceOrderError::from)?;
    direct::publish(transport, message).await?;
    crash_point!("C3");
    tx.commit().await.map_err(PlaceOrderError::from)?;
    crash_point!("C5");
    Ok(Placed { order_id, replayed: false })
}
