/// The exchange and the queues that a system uses. [`Declare`](crate::Declare) says who declares them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// The topic exchange that events are published to.
    pub exchange: String,
    /// The exchange that takes what queues give up on.
    pub dead_letter_exchange: String,
    /// The queues that events go to.
    pub queues: Vec<Queue>,
}

/// A durable queue and what it is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// Its name, by convention `<consumer>.<topic>`.
    pub name: String,
    /// Topic patterns: `*` is one word, `#` any number of them.
    pub bindings: Vec<String>,
    /// How often a message may be delivered and given back before it is dead-lettered. Far above the
    /// restarts that one expects, for a consumer that dies charges everything it had prefetched.
    pub delivery_limit: u32,
}

impl Topology {
    /// An exchange to which nothing is ever bound. A new publishing session sends an empty message
    /// there, to learn whether the broker takes any.
    #[must_use]
    pub fn probe_exchange(&self) -> String {
        format!("{}.probe", self.exchange)
    }
}

impl Queue {
    /// A queue with one binding and a delivery limit of 100.
    #[must_use]
    pub fn new(name: &str, binding: &str) -> Self {
        Self { name: name.to_owned(), bindings: vec![binding.to_owned()], delivery_limit: 100 }
    }

    /// The queue that takes what this one gives up on.
    #[must_use]
    pub fn dead_letter_queue(&self) -> String {
        format!("{}.dead", self.name)
    }
}

/// Whether a routing key matches a topic pattern, by the rules of AMQP 0-9-1.
#[must_use]
pub fn topic_matches(pattern: &str, routing_key: &str) -> bool {
    fn words(pattern: &[&str], key: &[&str]) -> bool {
        match (pattern.split_first(), key.split_first()) {
            (None, None) => true,
            (Some((&"#", rest)), _) => {
                words(rest, key) || key.split_first().is_some_and(|(_, key)| words(pattern, key))
            }
            (Some((&"*", pattern)), Some((_, key))) => words(pattern, key),
            (Some((word, pattern)), Some((other, key))) => word == other && words(pattern, key),
            _ => false,
        }
    }
    words(&split(pattern), &split(routing_key))
}

/// RabbitMQ sees no word in the empty text, not even an empty one.
fn split(topic: &str) -> Vec<&str> {
    match topic {
        "" => Vec::new(),
        words => words.split('.').collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::topic_matches;

    #[test]
    fn a_topic_pattern_matches_word_by_word() {
        for (pattern, key, expected) in [
            ("order.*", "order.placed", true),
            ("order.*", "order", false),
            ("order.*", "order.placed.twice", false),
            ("order.*", "stock.placed", false),
            ("#", "", true),
            ("*", "", false),
            ("", "", true),
            ("#", "a.b.c", true),
            ("order.#", "order", true),
            ("order.#", "order.a.b", true),
            ("#.placed", "order.placed", true),
            ("#.placed", "placed", true),
            ("order.placed", "order.placed", true),
            ("order.placed", "order.cancelled", false),
        ] {
            assert_eq!(topic_matches(pattern, key), expected, "{pattern} {key}");
        }
    }
}
