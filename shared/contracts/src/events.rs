use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{CustomerId, Lines, OrderId, Sku};

/// Something that happened and that other services may want to know. Unknown fields are ignored,
/// so that a new field breaks nobody.
pub trait Event: Serialize + DeserializeOwned {
    /// The message's `type`. Its routing key is the same in dotted words.
    const TYPE: &'static str;
}

/// An order was accepted and is durable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderPlaced {
    /// The order.
    pub order_id: OrderId,
    /// Who ordered.
    pub customer_id: CustomerId,
    /// What.
    pub lines: Lines,
    /// When.
    pub placed_at: DateTime<Utc>,
}

/// The customer wants the order undone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderCancelled {
    /// The order.
    pub order_id: OrderId,
    /// When.
    pub cancelled_at: DateTime<Utc>,
}

/// Every line of the order is reserved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StockReserved {
    /// The order.
    pub order_id: OrderId,
    /// What is reserved.
    pub lines: Lines,
}

/// No line of the order is reserved, since not all of them could be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StockRejected {
    /// The order.
    pub order_id: OrderId,
    /// Why.
    pub reason: RejectionReason,
    /// What was missing.
    #[serde(deserialize_with = "strict_json::objects")]
    pub shortages: Vec<Shortage>,
}

/// Nothing is reserved for the order any more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StockReleased {
    /// The order.
    pub order_id: OrderId,
}

/// Why an order was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RejectionReason {
    /// Every SKU is known, and at least one has too little stock.
    OutOfStock,
    /// At least one SKU is not known.
    UnknownSku,
}

/// One line that could not be reserved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortage {
    /// Of what.
    pub sku: Sku,
    /// How many the order wanted.
    pub requested: i64,
    /// How many there were.
    pub available: i64,
}

impl Event for OrderPlaced {
    const TYPE: &'static str = "OrderPlaced";
}

impl Event for OrderCancelled {
    const TYPE: &'static str = "OrderCancelled";
}

impl Event for StockReserved {
    const TYPE: &'static str = "StockReserved";
}

impl Event for StockRejected {
    const TYPE: &'static str = "StockRejected";
}

impl Event for StockReleased {
    const TYPE: &'static str = "StockReleased";
}
