use std::str::FromStr;
use std::time::Duration;

use crate::Backoff;

/// How the relays of one outbox share the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Coordination {
    /// All of them work. Order is kept for each aggregate.
    #[default]
    Shared,
    /// One works, the others stand by and take over when it dies. It publishes one message after
    /// another: the order of the whole outbox is kept, and any failure holds back everything.
    Leader,
}

impl FromStr for Coordination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "shared" => Ok(Self::Shared),
            "leader" => Ok(Self::Leader),
            _ => Err("expected shared or leader".to_owned()),
        }
    }
}

/// What becomes of the later messages of an aggregate when one is dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeadLetterPolicy {
    /// They wait until a person retries or discards it: the order is kept.
    #[default]
    Wait,
    /// They pass: the receiver sees a gap, and the dead one late or never.
    Skip,
}

impl FromStr for DeadLetterPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "wait" => Ok(Self::Wait),
            "skip" => Ok(Self::Skip),
            _ => Err("expected wait or skip".to_owned()),
        }
    }
}

/// How a relay works.
#[derive(Debug, Clone)]
pub struct RelayOptions {
    /// Identifies this relay in the rows that it has claimed, for people. The fencing token is another thing.
    pub owner: String,
    /// The `app_id` of the messages: the service that wrote them.
    pub app_id: String,
    /// Rows in one claim.
    pub batch_size: u32,
    /// Batches under way at once: the next is claimed while the last is being confirmed. A leader
    /// has one.
    pub batches_in_flight: u32,
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
    /// How relays of the same outbox share the work.
    pub coordination: Coordination,
    /// Whether a dead message holds back its aggregate.
    pub dead_letters: DeadLetterPolicy,
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
            batch_size: 1000,
            batches_in_flight: 2,
            poll_interval: Duration::from_secs(1),
            lease: Duration::from_secs(10),
            max_retries: 3,
            backoff: Backoff::Exponential,
            backoff_base: Duration::from_secs(1),
            coordination: Coordination::Shared,
            dead_letters: DeadLetterPolicy::Wait,
            unroutable_interval: Duration::from_secs(5),
            routing_key: dotted_routing_key,
        }
    }
}

/// The options can't work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRelayOptions {
    /// A batch is held in memory and answered as a whole.
    #[error("batch size: expected 1 to 10000")]
    BatchSize,
    /// Each batch under way has a channel at the broker and a connection to the database.
    #[error("batches in flight: expected 1 to 16")]
    BatchesInFlight,
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
        if !(1..=16).contains(&self.batches_in_flight) {
            return Err(InvalidRelayOptions::BatchesInFlight);
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

impl RelayOptions {
    /// A leader publishes one after another: a second batch could not overtake, but could not help either.
    pub(crate) fn in_flight(&self) -> usize {
        match self.coordination {
            Coordination::Shared => self.batches_in_flight as usize,
            Coordination::Leader => 1,
        }
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
