//! `Idempotency-Key`: a client that does not know how its request ended sends it again and gets the
//! same order. The key is written in the order's own transaction, so the two exist together or not.

use std::str::FromStr;

use axum::http::HeaderMap;
use chrono::{TimeDelta, Utc};
use contracts::OrderId;
use database::Failure;
use sea_orm::ActiveValue::Set;
use sea_orm::{DatabaseTransaction, DbErr, EntityTrait, QuerySelect, TryInsertResult};
use service_kit::Problem;

use crate::entity::idempotency_keys;

/// A key is kept so long. Afterwards it may be used anew.
const KEPT: TimeDelta = TimeDelta::hours(24);

/// 1 to 255 visible ASCII characters.
#[derive(Debug, Clone)]
pub(crate) struct IdempotencyKey(String);

impl FromStr for IdempotencyKey {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let valid = (1..=255).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        valid.then(|| Self(text.to_owned())).ok_or(())
    }
}

impl IdempotencyKey {
    /// The key of a request, if it has one.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Option<Self>, Problem> {
        let mut values = headers.get_all("idempotency-key").iter();
        let invalid =
            || Problem::bad_request("Idempotency-Key: expected 1 to 255 visible ASCII characters");
        match (values.next(), values.next()) {
            (None, _) => Ok(None),
            (Some(value), None) => {
                let text = value.to_str().map_err(|_| invalid())?;
                text.parse().map(Some).map_err(|()| invalid())
            }
            (Some(_), Some(_)) => {
                Err(Problem::bad_request("Idempotency-Key: expected one, got several"))
            }
        }
    }
}

/// What the table says about a key.
pub(crate) enum Claim {
    /// It is ours now.
    Ours,
    /// It made this order.
    Replay(OrderId),
    /// It made another order.
    OtherRequest,
    /// Another request with it is still at work.
    Busy,
}

/// Takes the key for the order that this transaction is about to write. A second request with the
/// same key waits here until the first one has committed or failed.
pub(crate) async fn claim(
    tx: &DatabaseTransaction,
    key: &IdempotencyKey,
    request_hash: &str,
    order_id: OrderId,
) -> Result<Claim, DbErr> {
    let row = idempotency_keys::ActiveModel {
        key: Set(key.0.clone()),
        request_hash: Set(request_hash.to_owned()),
        order_id: Set(order_id),
        created_at: Set(Utc::now()),
    };
    let insert = idempotency_keys::Entity::insert(row.clone()).on_conflict_do_nothing();
    match insert.exec(tx).await {
        Ok(TryInsertResult::Inserted(_)) => return Ok(Claim::Ours),
        Ok(_) => {}
        Err(error) if Failure::of(&error) == Failure::Contention => return Ok(Claim::Busy),
        Err(error) => return Err(error),
    }
    // Locked: of several requests that find an expired key, one takes it and the others replay.
    let known = idempotency_keys::Entity::find_by_id(key.0.clone())
        .lock_exclusive()
        .one(tx)
        .await?
        .ok_or_else(|| DbErr::RecordNotFound("idempotency key".to_owned()))?;
    if known.created_at < Utc::now() - KEPT {
        idempotency_keys::Entity::update(row).exec(tx).await?;
        return Ok(Claim::Ours);
    }
    match known.request_hash == request_hash {
        true => Ok(Claim::Replay(known.order_id)),
        false => Ok(Claim::OtherRequest),
    }
}
