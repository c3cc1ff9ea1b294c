use std::fmt;

use serde::{Deserialize, Serialize};

/// How many of one SKU an order wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Quantity(u32);

/// The number is no quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a whole number from 1 to {}", Quantity::MAX)]
pub struct InvalidQuantity;

impl Quantity {
    /// The most that one order can add up to for one SKU: 100 lines of 10,000.
    pub const MAX: u32 = 1_000_000;

    /// Adds two quantities of the same SKU, if the sum is still one.
    ///
    /// # Errors
    /// The sum is too large.
    pub fn plus(self, other: Self) -> Result<Self, InvalidQuantity> {
        Self::try_from(self.0.saturating_add(other.0))
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for Quantity {
    type Error = InvalidQuantity;

    fn try_from(number: u32) -> Result<Self, Self::Error> {
        let valid = (1..=Self::MAX).contains(&number);
        valid.then_some(Self(number)).ok_or(InvalidQuantity)
    }
}

impl From<Quantity> for u32 {
    fn from(quantity: Quantity) -> Self {
        quantity.0
    }
}

impl From<Quantity> for i64 {
    fn from(quantity: Quantity) -> Self {
        quantity.0.into()
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
