//! A message without an outbox: built and published on the spot, by whoever has something to say.

use std::sync::Arc;

use crash_points::crash_point;
use outbox::dotted_routing_key;
use serde_json::{Map, Value};
use transport::{Message, Outcome, Properties, Transport, TransportError};

/// What a message is made of.
#[derive(Debug, Clone)]
pub struct Envelope<'a> {
    /// Its id.
    pub message_id: String,
    /// The event's name.
    pub kind: &'a str,
    /// The type of what it is about.
    pub aggregate_type: &'a str,
    /// What it is about.
    pub aggregate_id: String,
    /// The version of that.
    pub aggregate_version: i64,
    /// The program that sends it.
    pub app_id: &'a str,
    /// Further headers.
    pub headers: Map<String, Value>,
    /// The body, as JSON.
    pub body: String,
}

impl Envelope<'_> {
    /// The message as it travels, in the form that the relay gives it.
    #[must_use]
    pub fn into_message(self) -> Message {
        let mut headers: transport::Headers = self.headers.into_iter().collect();
        headers.insert("schema-version".to_owned(), 1.into());
        headers.insert("aggregate-type".to_owned(), self.aggregate_type.into());
        headers.insert("aggregate-id".to_owned(), self.aggregate_id.into());
        headers.insert("aggregate-version".to_owned(), self.aggregate_version.into());
        Message {
            routing_key: dotted_routing_key(self.kind),
            properties: Properties {
                message_id: Some(self.message_id),
                kind: Some(self.kind.to_owned()),
                content_type: Some("application/json".to_owned()),
                app_id: Some(self.app_id.to_owned()),
                ..Properties::default()
            },
            headers,
            body: self.body.into_bytes(),
        }
    }
}

/// Publishes one message from the middle of a request.
///
/// # Errors
/// It was not confirmed. The caller has nothing by which it could try again.
pub async fn publish(
    transport: &Arc<dyn Transport>,
    message: Message,
) -> Result<(), TransportError> {
    crash_point!("before-direct-publish");
    let published = try_to_publish(transport, message).await;
    match published {
        Ok(()) => crash_point!("direct-publish-answered"),
        Err(_) => crash_point!("direct-publish-failed"),
    }
    published
}

async fn try_to_publish(
    transport: &Arc<dyn Transport>,
    message: Message,
) -> Result<(), TransportError> {
    let published = transport.publisher().await?.publish(&[message]).await;
    match (published.outcomes.as_slice(), published.lost) {
        ([Outcome::Confirmed], _) => Ok(()),
        (_, Some(lost)) => Err(lost),
        (outcomes, None) => {
            Err(TransportError::SessionLost { reason: format!("not confirmed: {outcomes:?}") })
        }
    }
}
