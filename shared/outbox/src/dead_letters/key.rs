use std::fmt;
use std::str::FromStr;

use sea_orm::{DbErr, QueryResult, Value};
use serde::Serialize;
use transport::MessageId;

/// What a row has as its message id. In a row that `append` wrote it is a [`MessageId`]; in one that
/// somebody else wrote it may be anything. Such a row dies, and people must be able to act on it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct MessageKey(String);

impl MessageKey {
    /// Whether it is one that a message may have.
    #[must_use]
    pub fn is_message_id(&self) -> bool {
        self.0.parse::<MessageId>().is_ok()
    }

    pub(super) fn of_row(row: &QueryResult) -> Result<Self, DbErr> {
        row.try_get("", "message_id").map(Self)
    }
}

impl From<MessageId> for MessageKey {
    fn from(id: MessageId) -> Self {
        Self(id.to_string())
    }
}

/// What is no message id either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a message id, or what a row has in its place: 1 to 255 characters")]
pub struct InvalidMessageKey;

impl FromStr for MessageKey {
    type Err = InvalidMessageKey;

    fn from_str(text: &str) -> Result<Self, InvalidMessageKey> {
        if let Ok(id) = text.parse::<MessageId>() {
            return Ok(id.into()); // in the one form in which ids are stored
        }
        let fits = (1..=255).contains(&text.len()) && !text.contains('\0');
        fits.then(|| Self(text.to_owned())).ok_or(InvalidMessageKey)
    }
}

impl fmt::Display for MessageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq<MessageId> for MessageKey {
    fn eq(&self, id: &MessageId) -> bool {
        self.0 == id.to_string()
    }
}

impl From<&MessageKey> for Value {
    fn from(key: &MessageKey) -> Self {
        key.0.as_str().into()
    }
}
