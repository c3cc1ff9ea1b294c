use std::time::Duration;

use crate::Backoff;

/// How a relay works.
#[derive(Debug, Clone)]
pub struct RelayOptions {
    /// Identifies this relay in the rows that it has claimed, for people. The fencing token is another thing.
    pub owner: String,
    /// The `app_id` of the messages: the service that wrote them.
    pub app_id: String,
    /// Rows in one claim, and so messages in flight.
    pub batch_size: u32,
    /// How often to look when no hint arrives.
    pub poll_interval: Duration,
    /// How long a claim lasts. When a relay dies, its rows wait this long for another one. Must be
    /// longer than the transport's confirm time-out, else a healthy relay loses its own rows.
    pub lease: Duration,
    /// After so many failures of its own (not of the broker) a message is dead.
    pub max_retries: u32,
    /// The wait between two such tries.
    pub backoff: Backoff,
    /// The unit of that wait.
    pub backoff_base: Duration,
    /// When to look again whether an unroutable message has found its queue.
    pub unroutable_interval: Duration,
    /// Makes the routing key from the message's type.
    pub routing_key: fn(&str) -> String,
}

impl Default for RelayOptions {
    fn default() -> Self {
        Self {
            owner: format!("relay-{}", std::process::id()),
            app_id: "outbox".to_owned(),
            batch_size: 500,
            poll_interval: Duration::from_secs(1),
            lease: Duration::from_secs(10),
            max_retries: 3,
            backoff: Backoff::Exponential,
            backoff_base: Duration::from_secs(1),
            unroutable_interval: Duration::from_secs(5),
            routing_key: dotted_routing_key,
        }
    }
}

/// The options can't work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRelayOptions {
    /// Each row of a batch is a parameter of a statement, and those are limited.
    #[error("batch size: expected 1 to 10000")]
    BatchSize,
    /// A lease that ends at once protects nothing.
    #[error("lease: expected at least 500 ms")]
    Lease,
    /// A poll without a pause is a busy loop.
    #[error("poll interval: expected at least 10 ms")]
    PollInterval,
}

impl RelayOptions {
    /// Refuses what can't work.
    ///
    /// # Errors
    /// The first option that is out of its range.
    pub fn validate(&self) -> Result<(), InvalidRelayOptions> {
        if !(1..=10_000).contains(&self.batch_size) {
            return Err(InvalidRelayOptions::BatchSize);
        }
        if self.lease < Duration::from_millis(500) {
            return Err(InvalidRelayOptions::Lease);
        }
        if self.poll_interval < Duration::from_millis(10) {
            return Err(InvalidRelayOptions::PollInterval);
        }
        Ok(())
    }
}

/// `OrderPlaced` becomes `order.placed`.
#[must_use]
pub fn dotted_routing_key(kind: &str) -> String {
    let mut key = String::with_capacity(kind.len() + 2);
    for (position, letter) in kind.chars().enumerate() {
        if letter.is_uppercase() && position > 0 {
            key.push('.');
        }
        key.extend(letter.to_lowercase());
    }
    key
}

#[cfg(test)]
mod tests {
    use super::dotted_routing_key;

    #[test]
    fn the_routing_key_is_the_type_in_dotted_words() {
        assert_eq!(dotted_routing_key("OrderPlaced"), "order.placed");
        assert_eq!(dotted_routing_key("stock.released"), "stock.released");
    }
}
