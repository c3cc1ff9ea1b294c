use std::fmt;
use std::str::FromStr;

use sea_orm::{DbErr, DeriveValueType, TryFromU64};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Identifies an order everywhere. Version 7, so that later orders sort after earlier ones.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    DeriveValueType,
)]
#[sea_orm(value_type = "String")]
#[serde(try_from = "String", into = "String")]
pub struct OrderId(Uuid);

/// The text is no order id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a hyphenated UUID")]
pub struct InvalidOrderId;

impl OrderId {
    /// A new one.
    #[must_use]
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }
}

impl FromStr for OrderId {
    type Err = InvalidOrderId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match Uuid::try_parse(text) {
            Ok(id) if text.len() == uuid::fmt::Hyphenated::LENGTH => Ok(Self(id)),
            _ => Err(InvalidOrderId),
        }
    }
}

impl TryFrom<String> for OrderId {
    type Error = InvalidOrderId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<OrderId> for String {
    fn from(id: OrderId) -> Self {
        id.to_string()
    }
}

/// SeaORM asks this of primary keys, for databases that hand out numbers. This key is never a number.
impl TryFromU64 for OrderId {
    fn try_from_u64(_: u64) -> Result<Self, DbErr> {
        Err(DbErr::ConvertFromU64("OrderId"))
    }
}

impl fmt::Display for OrderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}
