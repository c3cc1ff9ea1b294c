use std::fmt;
use std::str::FromStr;

use sea_orm::DeriveValueType;
use serde::{Deserialize, Serialize};

/// The customer, as the caller names them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, DeriveValueType)]
#[sea_orm(value_type = "String")]
#[serde(try_from = "String", into = "String")]
pub struct CustomerId(String);

/// The text is no customer id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected 1 to 64 characters, no control characters, no white space at the ends")]
pub struct InvalidCustomerId;

impl FromStr for CustomerId {
    type Err = InvalidCustomerId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let valid = (1..=64).contains(&text.chars().count())
            && !text.chars().any(char::is_control)
            && text.trim() == text;
        valid.then(|| Self(text.to_owned())).ok_or(InvalidCustomerId)
    }
}

impl TryFrom<String> for CustomerId {
    type Error = InvalidCustomerId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<CustomerId> for String {
    fn from(id: CustomerId) -> Self {
        id.0
    }
}

impl fmt::Display for CustomerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_customer_id_is_up_to_64_characters_without_control_characters_or_outer_space() {
        for good in ["c-42", "a b", &"ü".repeat(64), "日本"] {
            assert!(good.parse::<CustomerId>().is_ok(), "{good:?}");
        }
        for bad in ["", " a", "a ", "a\u{3000}", "a\0b", "a\u{85}b", &"ü".repeat(65)] {
            assert_eq!(bad.parse::<CustomerId>(), Err(InvalidCustomerId), "{bad:?}");
        }
    }
}
