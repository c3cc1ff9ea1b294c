//! What a row becomes on its way to the broker.

use transport::{Headers, Message, Properties};

use crate::RelayOptions;
use crate::claim::Claimed;

/// Makes the message of a row: the same in every attempt.
///
/// # Errors
/// The row holds something that is no JSON. It can't be sent, ever.
pub(crate) fn message(row: &Claimed, options: &RelayOptions) -> Result<Message, serde_json::Error> {
    serde_json::from_str::<serde::de::IgnoredAny>(&row.payload)?;
    let mut headers: Headers = serde_json::from_str(&row.headers)?;
    headers.insert("schema-version".to_owned(), row.schema_version.into());
    headers.insert("aggregate-id".to_owned(), row.aggregate_id.clone().into());
    headers.insert("aggregate-version".to_owned(), row.aggregate_version.into());
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
