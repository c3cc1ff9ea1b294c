//! A [`Message`] as AMQP carries it, and back.

use lapin::BasicProperties;
use lapin::types::ShortString;

use super::headers;
use crate::{Message, Properties};

/// Survives a restart of the broker.
const PERSISTENT: u8 = 2;

/// What the other properties and the frame itself can take beside the headers, at most.
const PROPERTIES_SIZE: usize = 2048;

/// A message that the broker can take, as far as we can know beforehand.
pub(super) struct Outgoing<'a> {
    pub(super) routing_key: ShortString,
    pub(super) properties: BasicProperties,
    pub(super) body: &'a [u8],
}

/// The limits that a message must keep, in bytes. Beyond them the broker closes the channel or
/// the connection, and takes the neighbours of the message down with it.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) body: usize,
    /// The negotiated frame size: all properties and headers travel in one frame.
    pub(super) frame: usize,
}

/// Prepares a message for sending.
///
/// # Errors
/// A sentence for people when the broker could not take it.
pub(super) fn outgoing<'a>(message: &'a Message, limits: Limits) -> Result<Outgoing<'a>, String> {
    if message.body.len() > limits.body {
        let (actual, limit) = (message.body.len(), limits.body);
        return Err(format!("the body has {actual} bytes; at most {limit} are sent"));
    }
    let headers = headers::to_table(&message.headers)?;
    let size = headers::encoded_len(&headers);
    if size + PROPERTIES_SIZE > limits.frame {
        let limit = limits.frame.saturating_sub(PROPERTIES_SIZE);
        return Err(format!("the headers take {size} bytes; at most {limit} are sent"));
    }
    let properties = standard_properties(&message.properties)?;
    Ok(Outgoing {
        routing_key: headers::short("the routing key", &message.routing_key)?,
        properties: properties.with_headers(headers),
        body: &message.body,
    })
}

fn standard_properties(properties: &Properties) -> Result<BasicProperties, String> {
    let mut sent = BasicProperties::default().with_delivery_mode(PERSISTENT);
    if let Some(id) = &properties.message_id {
        sent = sent.with_message_id(headers::short("message_id", id)?);
    }
    if let Some(kind) = &properties.kind {
        sent = sent.with_type(headers::short("type", kind)?);
    }
    if let Some(media_type) = &properties.content_type {
        sent = sent.with_content_type(headers::short("content_type", media_type)?);
    }
    if let Some(encoding) = &properties.content_encoding {
        sent = sent.with_content_encoding(headers::short("content_encoding", encoding)?);
    }
    if let Some(timestamp) = properties.timestamp {
        sent = sent.with_timestamp(timestamp);
    }
    if let Some(app) = &properties.app_id {
        sent = sent.with_app_id(headers::short("app_id", app)?);
    }
    Ok(sent)
}

/// Reads what the broker delivered. Never fails: nothing in it is trusted yet.
pub(super) fn incoming(
    routing_key: &ShortString,
    properties: &BasicProperties,
    body: Vec<u8>,
) -> Message {
    let text = |value: &Option<ShortString>| value.as_ref().map(|text| text.as_str().to_owned());
    Message {
        routing_key: routing_key.as_str().to_owned(),
        properties: Properties {
            message_id: text(properties.message_id()),
            kind: text(properties.kind()),
            content_type: text(properties.content_type()),
            content_encoding: text(properties.content_encoding()),
            timestamp: *properties.timestamp(),
            app_id: text(properties.app_id()),
        },
        headers: properties.headers().as_ref().map(headers::from_table).unwrap_or_default(),
        body,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const LIMITS: Limits = Limits { body: 1000, frame: 4096 };

    fn message() -> Message {
        Message {
            routing_key: "order.placed".to_owned(),
            properties: Properties {
                message_id: Some("0192b3c4-0000-7000-8000-00000000000a".to_owned()),
                kind: Some("OrderPlaced".to_owned()),
                content_type: Some("application/json".to_owned()),
                content_encoding: Some("identity".to_owned()),
                timestamp: Some(1_700_000_000),
                app_id: Some("order-service".to_owned()),
            },
            headers: [("schema-version".to_owned(), json!(1))].into(),
            body: b"{}".to_vec(),
        }
    }

    #[test]
    fn a_message_comes_back_as_it_was_sent() {
        let message = message();
        let sent = outgoing(&message, LIMITS).expect("fits");
        assert_eq!(sent.properties.delivery_mode(), &Some(PERSISTENT));
        let back = incoming(&sent.routing_key, &sent.properties, sent.body.to_vec());
        assert_eq!(back, message);
    }

    #[test]
    fn a_message_without_properties_can_be_sent_and_read() {
        let message = Message::default();
        let sent = outgoing(&message, LIMITS).expect("fits");
        assert_eq!(incoming(&sent.routing_key, &sent.properties, Vec::new()), message);
        assert_eq!(
            incoming(&ShortString::default(), &BasicProperties::default(), Vec::new()),
            message
        );
    }

    #[test]
    fn what_the_broker_could_not_take_is_refused_with_the_reason() {
        let long = "x".repeat(256);
        let mut large = message();
        large.body = vec![0; 1001];
        let mut key = message();
        key.routing_key.clone_from(&long);
        let mut kind = message();
        kind.properties.kind = Some(long);
        let mut headers = message();
        headers.headers.insert("trace".to_owned(), json!("x".repeat(3000)));

        for (message, reason) in [
            (large, "the body has 1001 bytes; at most 1000 are sent"),
            (key, "the routing key has 256 bytes; at most 255 fit"),
            (kind, "type has 256 bytes; at most 255 fit"),
            (headers, "the headers take 3039 bytes; at most 2048 are sent"),
        ] {
            assert_eq!(outgoing(&message, LIMITS).err().as_deref(), Some(reason));
        }
    }
}
