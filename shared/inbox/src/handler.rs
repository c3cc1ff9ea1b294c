use std::sync::Arc;

use async_trait::async_trait;
use sea_orm::{DatabaseTransaction, DbErr};
use serde::de::DeserializeOwned;
use serde_json::Value;
use strict_json::Object;
use transport::Message;

use crate::Reason;

/// What a service does with its messages. Everything else is the [`crate::Consumer`]'s.
#[async_trait]
pub trait Handler: Send + Sync + 'static {
    /// A message after decoding.
    type Event: Send + Sync;

    /// Turns a raw message into an event. Look at its type, its schema version and its body; the
    /// message id has been checked already.
    ///
    /// # Errors
    /// It can't be read, and never will be: the consumer parks it.
    fn decode(&self, message: &Message) -> Result<Self::Event, Unreadable>;

    /// Carries out the effect, in the transaction that already holds the inbox row. It may run
    /// several times for one message, but it is committed once. No effects outside of `tx`! Let
    /// every [`DbErr`] leave by `?`: after a failed statement the transaction is lost.
    ///
    /// # Errors
    /// By the error's [`database::Failure`]: the consumer waits for the database, repeats the
    /// transaction, or counts it like [`Verdict::Retry`].
    async fn handle(&self, tx: &DatabaseTransaction, event: &Self::Event)
    -> Result<Verdict, DbErr>;

    /// Called after each commit, to wake a relay for instance. Best effort: a crash may skip it.
    fn committed(&self) {}
}

/// One handler for several: a consumer, and the retries of what it has parked.
#[async_trait]
impl<H: Handler> Handler for Arc<H> {
    type Event = H::Event;

    fn decode(&self, message: &Message) -> Result<Self::Event, Unreadable> {
        H::decode(self, message)
    }

    async fn handle(
        &self,
        tx: &DatabaseTransaction,
        event: &Self::Event,
    ) -> Result<Verdict, DbErr> {
        H::handle(self, tx, event).await
    }

    fn committed(&self) {
        H::committed(self);
    }
}

/// What the handler decided. A thin edge acts on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Commit, then acknowledge.
    Ack,
    /// Roll back, try again later; after the last try it is parked with this text.
    Retry(String),
    /// Roll back and park it with this text.
    Park(String),
}

/// Why a message can't be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// One word, for programs.
    pub reason: Reason,
    /// One sentence, for people.
    pub detail: String,
}

impl Unreadable {
    /// A message whose type nobody here knows.
    #[must_use]
    pub fn unknown_type(kind: Option<&str>) -> Self {
        Self {
            reason: Reason::UnknownType,
            detail: match kind {
                Some(kind) => format!("no handler for type {kind:?}"),
                None => "the message has no type".to_owned(),
            },
        }
    }
}

/// Reads a JSON object of schema version `supported`. For use in [`Handler::decode`].
///
/// # Errors
/// Another version, or a body that is not `T`.
pub fn json_body<T: DeserializeOwned>(message: &Message, supported: i64) -> Result<T, Unreadable> {
    let version = schema_version(message);
    if version.as_deref() != Some(supported.to_string().as_str()) {
        return Err(Unreadable {
            reason: Reason::UnsupportedVersion,
            detail: format!(
                "schema-version {}, supported is {supported}",
                version.as_deref().unwrap_or("unreadable")
            ),
        });
    }
    match serde_json::from_slice::<Object<T>>(&message.body) {
        Ok(object) => Ok(object.0),
        Err(error) => Err(Unreadable { reason: Reason::MalformedBody, detail: error.to_string() }),
    }
}

/// The header as text: absent means 1, and a number may come as a number or as text.
fn schema_version(message: &Message) -> Option<String> {
    match message.headers.get("schema-version") {
        None => Some("1".to_owned()),
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, serde::Deserialize)]
    struct Body {
        #[expect(dead_code, reason = "only read")]
        n: i64,
    }

    #[test]
    fn the_schema_version_is_1_when_absent_and_may_be_a_number_or_text() {
        for (header, readable) in [
            (None, true),
            (Some(json!(1)), true),
            (Some(json!("1")), true),
            (Some(json!(2)), false),
            (Some(json!("1.0")), false),
            (Some(json!(1.0)), false),
            (Some(json!(" 1")), false),
            (Some(json!(null)), false),
            (Some(json!(true)), false),
            (Some(json!({"bytes": "31"})), false),
        ] {
            let mut message = Message { body: b"{\"n\":7}".to_vec(), ..Message::default() };
            if let Some(header) = &header {
                message.headers.insert("schema-version".to_owned(), header.clone());
            }
            assert_eq!(json_body::<Body>(&message, 1).is_ok(), readable, "{header:?}");
        }
    }

    #[test]
    fn a_body_that_is_not_the_types_json_is_malformed() {
        for body in [
            &b"\xff"[..],
            b"",
            b"{",
            b"7",
            b"[7]",
            b"{\"n\":7} x",
            b"{\"n\":1e400}",
            b"{\"n\":7,\"n\":7}",
        ] {
            let message = Message { body: body.to_vec(), ..Message::default() };
            let unreadable = json_body::<Body>(&message, 1).expect_err("unreadable");
            assert_eq!(unreadable.reason, Reason::MalformedBody, "{body:?}");
        }
    }
}
