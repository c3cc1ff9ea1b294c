//! Which aggregate a message is about, and which of its versions.

use std::hash::{DefaultHasher, Hash, Hasher};

use sea_orm::Value;
use transport::Message;

/// The thing that a message is about, such as one order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Aggregate {
    /// Empty where the sender does not say.
    pub(crate) kind: String,
    pub(crate) id: String,
}

/// One step in an aggregate's life: the first is 1, and there is a message for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) aggregate: Aggregate,
    pub(crate) version: i64,
}

/// Longer names are none of ours, and would not fit into an index.
const LONGEST_NAME: usize = 255;

impl Aggregate {
    /// As parameters: type, then id.
    pub(crate) fn values(&self) -> [Value; 2] {
        [self.kind.as_str().into(), self.id.as_str().into()]
    }
}

impl Step {
    /// Reads the headers. `None` where they are absent or unreadable: then no order is known.
    pub(crate) fn of(message: &Message) -> Option<Self> {
        let name = |header: &str| {
            let text = message.headers.get(header)?.as_str()?;
            (text.len() <= LONGEST_NAME && !text.contains('\0')).then(|| text.to_owned())
        };
        let version = message.headers.get("aggregate-version")?;
        let version = version.as_i64().or_else(|| version.as_str()?.parse().ok())?;
        let id = name("aggregate-id")?;
        let kind = match message.headers.contains_key("aggregate-type") {
            true => name("aggregate-type")?,
            false => String::new(),
        };
        (version >= 1).then_some(Self { aggregate: Aggregate { kind, id }, version })
    }
}

/// The same lane for all messages of one aggregate, and for all copies of one message.
pub(crate) fn lane_of(message: &Message, lanes: usize) -> usize {
    let mut hasher = DefaultHasher::new();
    match message.headers.get("aggregate-id") {
        Some(id) => id.to_string().hash(&mut hasher),
        None => message.properties.message_id.hash(&mut hasher),
    }
    usize::try_from(hasher.finish() % lanes.max(1) as u64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn step(headers: Value) -> Option<(String, String, i64)> {
        let headers = serde_json::from_value(headers).expect("an object");
        let step = Step::of(&Message { headers, ..Message::default() })?;
        Some((step.aggregate.kind, step.aggregate.id, step.version))
    }

    #[test]
    fn a_message_without_readable_headers_has_no_place_in_an_order() {
        for headers in [
            json!({}),
            json!({"aggregate-id": "a"}),
            json!({"aggregate-version": 1}),
            json!({"aggregate-id": 7, "aggregate-version": 1}),
            json!({"aggregate-id": "a\u{0}", "aggregate-version": 1}),
            json!({"aggregate-id": "a".repeat(256), "aggregate-version": 1}),
            json!({"aggregate-id": "a", "aggregate-version": 0}),
            json!({"aggregate-id": "a", "aggregate-version": -1}),
            json!({"aggregate-id": "a", "aggregate-version": 1.5}),
            json!({"aggregate-id": "a", "aggregate-version": "one"}),
            json!({"aggregate-id": "a", "aggregate-version": 1, "aggregate-type": null}),
        ] {
            assert_eq!(step(headers.clone()), None, "{headers}");
        }
    }

    #[test]
    fn the_type_may_be_absent_and_the_version_may_be_text() {
        let found = |kind: &str, version| Some((kind.to_owned(), "a".to_owned(), version));
        assert_eq!(step(json!({"aggregate-id": "a", "aggregate-version": 3})), found("", 3));
        let headers =
            json!({"aggregate-id": "a", "aggregate-version": "4", "aggregate-type": "order"});
        assert_eq!(step(headers), found("order", 4));
    }

    #[test]
    fn messages_of_one_aggregate_and_copies_of_one_message_share_a_lane() {
        let about = |id: &str, message_id: &str| {
            let mut message = Message::default();
            message.headers.insert("aggregate-id".to_owned(), json!(id));
            message.properties.message_id = Some(message_id.to_owned());
            message
        };
        assert_eq!(lane_of(&about("a", "1"), 7), lane_of(&about("a", "2"), 7));
        let used: std::collections::BTreeSet<_> =
            (0..100).map(|n| lane_of(&about(&n.to_string(), "1"), 7)).collect();
        assert_eq!(used.len(), 7, "all lanes are used");
    }
}
