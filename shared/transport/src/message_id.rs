use std::fmt;
use std::str::FromStr;

use sea_orm::DeriveValueType;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Identifies a message in every attempt to publish and deliver it. The inbox recognises doubles by it.
///
/// Stored as text in both databases, so that a person can read it and it needs no conversion there.
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
pub struct MessageId(Uuid);

impl MessageId {
    /// A new one, of version 7: later ids sort after earlier ones, which keeps indexes compact.
    #[must_use]
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }
}

/// The text is no usable message id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a hyphenated UUID other than the nil UUID")]
pub struct InvalidMessageId;

impl FromStr for MessageId {
    type Err = InvalidMessageId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // `Uuid` also reads braces, URNs and the form without hyphens: one id must have one spelling.
        if text.len() != uuid::fmt::Hyphenated::LENGTH {
            return Err(InvalidMessageId);
        }
        match Uuid::try_parse(text) {
            Ok(id) if !id.is_nil() => Ok(Self(id)),
            _ => Err(InvalidMessageId),
        }
    }
}

impl TryFrom<String> for MessageId {
    type Error = InvalidMessageId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<MessageId> for String {
    fn from(id: MessageId) -> Self {
        id.to_string()
    }
}

impl From<Uuid> for MessageId {
    fn from(id: Uuid) -> Self {
        Self(id)
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_id_is_a_hyphenated_uuid_in_any_case_and_never_nil() {
        let id: MessageId = "0192B3C4-0000-7000-8000-00000000000A".parse().expect("upper case");
        assert_eq!(id.to_string(), "0192b3c4-0000-7000-8000-00000000000a");
        for bad in [
            "",
            "x",
            "00000000-0000-0000-0000-000000000000",
            "0192b3c400007000800000000000000a",
            "{0192b3c4-0000-7000-8000-00000000000a}",
            "urn:uuid:0192b3c4-0000-7000-8000-00000000000a",
        ] {
            assert_eq!(bad.parse::<MessageId>(), Err(InvalidMessageId), "{bad}");
        }
    }
}
