//! What a row becomes on its way to the broker.

use chrono::SecondsFormat;
use serde_json::Value;
use transport::{Headers, Message, Properties};

use crate::RelayOptions;
use crate::rows::Claimed;

/// Makes the message of a row: the same in every attempt.
///
/// # Errors
/// The row holds something that is no JSON. It can't be sent, ever.
pub(crate) fn message(row: &Claimed, options: &RelayOptions) -> Result<Message, serde_json::Error> {
    serde_json::from_str::<serde::de::IgnoredAny>(&row.payload)?;
    let mut headers: Headers = serde_json::from_str(&row.headers)?;
    // After the writer's own: none of these can be replaced.
    let mut set = |name: &str, value: Value| headers.insert(name.to_owned(), value);
    set("schema-version", row.schema_version.into());
    set("aggregate-type", row.aggregate_type.clone().into());
    set("aggregate-id", row.aggregate_id.clone().into());
    set("aggregate-version", row.aggregate_version.into());
    for (name, value) in cloud_event(row, &options.app_id) {
        set(&format!("{CLOUD_EVENTS}{name}"), value.into());
    }
    Ok(Message {
        routing_key: (options.routing_key)(&row.kind),
        properties: Properties {
            message_id: Some(row.message_id.to_string()),
            kind: Some(row.kind.clone()),
            content_type: Some("application/json".to_owned()),
            content_encoding: None,
            timestamp: u64::try_from(row.occurred_on.timestamp()).ok(),
            app_id: Some(options.app_id.clone()),
        },
        headers,
        body: row.payload.clone().into_bytes(),
    })
}

/// The prefix of an attribute's name in CloudEvents' AMQP binding, binary mode. The binding is for
/// AMQP 1.0, whose application properties are what RabbitMQ makes of the headers of 0-9-1.
///
/// Version 1.0.2 of the binding added `cloudEvents_` for JMS, whose names can't have a colon. A
/// receiver must understand both there, and one of an earlier version knows this one only: so
/// everybody knows this one.
const CLOUD_EVENTS: &str = "cloudEvents:";

/// The row as a CloudEvent. The attribute `datacontenttype` is the property `content_type`.
fn cloud_event(row: &Claimed, app_id: &str) -> Vec<(&'static str, String)> {
    let mut attributes = vec![
        ("specversion", "1.0".to_owned()),
        ("id", row.message_id.to_string()),
        ("source", source(app_id)),
        ("type", row.kind.clone()),
        ("time", row.occurred_on.to_rfc3339_opts(SecondsFormat::AutoSi, true)),
    ];
    // Optional, and if it is there it is not empty.
    if !row.aggregate_id.is_empty() {
        attributes.push(("subject", row.aggregate_id.clone()));
    }
    attributes
}

/// `order-service` becomes `/order-service`: the source is a URI reference, and an `app_id` any text.
fn source(app_id: &str) -> String {
    let mut source = String::with_capacity(app_id.len() + 1);
    source.push('/');
    for byte in app_id.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                source.push(char::from(byte));
            }
            _ => source.push_str(&format!("%{byte:02X}")),
        }
    }
    source
}

#[cfg(test)]
mod tests {
    use super::source;

    #[test]
    fn any_app_id_becomes_a_uri_reference() {
        assert_eq!(source("order-service"), "/order-service");
        assert_eq!(source("a b/ü?"), "/a%20b%2F%C3%BC%3F");
        assert_eq!(source(""), "/");
    }
}
