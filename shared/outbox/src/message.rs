use serde::Serialize;
use serde_json::{Map, Value};
use transport::{MessageId, Trace};

/// A message about to be appended.
#[derive(Debug, Clone)]
pub struct NewMessage {
    pub(crate) message_id: MessageId,
    pub(crate) aggregate_type: String,
    pub(crate) aggregate_id: String,
    pub(crate) aggregate_version: i64,
    pub(crate) kind: String,
    pub(crate) schema_version: i32,
    pub(crate) payload: Value,
    pub(crate) headers: Map<String, Value>,
}

impl NewMessage {
    /// A message of type `kind` about version `aggregate_version` of an aggregate.
    ///
    /// Messages of one aggregate are published in the order of their versions. Take the version
    /// from the aggregate's own row, locked in the same transaction; then 1, 2, 3 … is the order
    /// of the commits, and a second writer of the same version fails on the unique key.
    ///
    /// # Errors
    /// The payload has no JSON form.
    pub fn new(
        aggregate_type: &str,
        aggregate_id: impl ToString,
        aggregate_version: i64,
        kind: &str,
        payload: &impl Serialize,
    ) -> Result<Self, serde_json::Error> {
        Ok(Self {
            message_id: MessageId::generate(),
            aggregate_type: aggregate_type.to_owned(),
            aggregate_id: aggregate_id.to_string(),
            aggregate_version,
            kind: kind.to_owned(),
            schema_version: 1,
            payload: serde_json::to_value(payload)?,
            headers: Map::new(),
        })
    }

    /// The major version of the payload's form. 1 unless told otherwise.
    #[must_use]
    pub fn schema_version(mut self, version: i32) -> Self {
        self.schema_version = version;
        self
    }

    /// The trace that it belongs to: the headers `traceparent` and `tracestate`. They are stored
    /// with the row, so each attempt to publish it carries the same.
    #[must_use]
    pub fn trace(mut self, trace: &Trace) -> Self {
        self.headers.extend(trace.headers());
        self
    }

    /// A header of your own that travels with the message.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.headers.insert(name.to_owned(), value.into());
        self
    }
}
