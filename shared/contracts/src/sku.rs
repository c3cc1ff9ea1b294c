use std::fmt;
use std::str::FromStr;

use sea_orm::{DbErr, DeriveValueType, TryFromU64};
use serde::{Deserialize, Serialize};

/// A stock-keeping unit, `[A-Z0-9][A-Z0-9-]{0,31}`.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, DeriveValueType,
)]
#[sea_orm(value_type = "String")]
#[serde(try_from = "String", into = "String")]
pub struct Sku(String);

/// The text is no SKU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected 1 to 32 characters A-Z, 0-9 or hyphen, the first one no hyphen")]
pub struct InvalidSku;

impl FromStr for Sku {
    type Err = InvalidSku;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let valid = (1..=32).contains(&text.len())
            && !text.starts_with('-')
            && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'-');
        valid.then(|| Self(text.to_owned())).ok_or(InvalidSku)
    }
}

impl TryFrom<String> for Sku {
    type Error = InvalidSku;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Sku> for String {
    fn from(sku: Sku) -> Self {
        sku.0
    }
}

/// SeaORM asks this of primary keys, for databases that hand out numbers. This key is never a number.
impl TryFromU64 for Sku {
    fn try_from_u64(_: u64) -> Result<Self, DbErr> {
        Err(DbErr::ConvertFromU64("Sku"))
    }
}

impl fmt::Display for Sku {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sku_is_upper_case_letters_digits_and_inner_hyphens() {
        for good in ["KEYBOARD", "A", "9-", &"A".repeat(32)] {
            assert!(good.parse::<Sku>().is_ok(), "{good:?}");
        }
        for bad in ["", "-A", "keyboard", "A B", "Ä", "A\0", &"A".repeat(33)] {
            assert_eq!(bad.parse::<Sku>(), Err(InvalidSku), "{bad:?}");
        }
    }
}
