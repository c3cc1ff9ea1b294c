//! Publishing and consuming messages with an answer for each one.
//!
//! [`Transport`] is the seam between the patterns (outbox, inbox) and a broker. Two
//! implementations exist, chosen by the broker's URL alone (see [`connect`]):
//!
//! | URL | implementation |
//! | --- | --- |
//! | `amqp://…` | [`rabbitmq`]: publisher confirms, `mandatory`, quorum queues |
//! | `sqlite://…`, `postgres://…` | [`sql`]: a durable queue in a database |
//!
//! A **session** (what [`Transport::publisher`] and [`Transport::consumer`] return) is one
//! connection with everything that lives on it. It is never repaired: after any error its
//! owner drops it and asks for a new one. Half-recovered sessions are where messages get lost.

mod declare;
mod error;
mod link;
mod message;
mod message_id;
pub mod rabbitmq;
pub mod sql;
mod topology;
mod trace;
mod url;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

pub use declare::Declare;
pub use error::{NodeFailure, TransportError};
pub use link::{Link, LinkState};
pub use message::{Delivery, Headers, Message, Properties, Settle, Settlement};
pub use message_id::{InvalidMessageId, MessageId};
pub use topology::{Queue, Topology, topic_matches};
pub use trace::Trace;
pub use url::redact;

/// Opens sessions on one broker.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Opens a publishing session, and declares what [`TransportOptions::declare`] says on it.
    async fn publisher(&self) -> Result<Box<dyn Publisher>, TransportError>;

    /// The same for a consuming session on `queue`, with at most `prefetch` unsettled deliveries.
    async fn consumer(
        &self,
        queue: &str,
        prefetch: u16,
    ) -> Result<Box<dyn Consumer>, TransportError>;

    /// How many messages each declared queue holds (dead-letter queues included).
    async fn depths(&self) -> Result<Vec<QueueDepth>, TransportError>;
}

/// A publishing session. Dropping it closes it.
#[async_trait]
pub trait Publisher: Send + Sync {
    /// Publishes all messages at once, then waits for the broker's answer to each.
    ///
    /// Never returns before each message has an outcome; a message without an answer within
    /// the transport's time-out is [`Outcome::Unknown`] and the session is lost.
    async fn publish(&self, messages: &[Message]) -> Published;

    /// Says whether the session still works, without publishing. For idle times and health.
    async fn check(&self) -> Result<(), TransportError>;
}

/// A consuming session. Dropping it closes it: what was not settled is delivered again.
#[async_trait]
pub trait Consumer: Send {
    /// Waits for the next message. An error ends the session. Cancel-safe.
    async fn next(&mut self) -> Result<Delivery, TransportError>;
}

/// What [`Publisher::publish`] found out.
#[derive(Debug)]
pub struct Published {
    /// One outcome for each message, in the order in which they were given.
    pub outcomes: Vec<Outcome>,
    /// Set when the session can't be used any more.
    pub lost: Option<TransportError>,
}

/// The broker's answer to one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The broker has taken responsibility: the message survives its crash.
    Confirmed,
    /// No queue is bound for the routing key. The broker dropped it and said so.
    Unroutable(String),
    /// The broker refused it for now (`basic.nack`).
    Nacked,
    /// It was never sent, since the broker could not take it (too large, a name too long).
    Refused(String),
    /// No answer: the broker may have it or not. Publish again; the receiver's inbox removes the double.
    Unknown,
}

/// Messages waiting in one queue.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct QueueDepth {
    /// The queue's name.
    pub queue: String,
    /// Messages in it, ready to be delivered.
    pub ready: u64,
    /// Messages that are delivered and not settled, where the broker says so. RabbitMQ tells it by
    /// its management interface only.
    pub unacked: Option<u64>,
    /// Consuming sessions on it, where the broker knows.
    pub consumers: Option<u64>,
}

/// Time limits and the like of a transport.
#[derive(Debug, Clone)]
pub struct TransportOptions {
    /// The name that the broker shows for our connections.
    pub client_name: String,
    /// Which part of the topology a session declares.
    pub declare: Declare,
    /// The limit for opening a session (network, handshake, topology).
    pub connect_timeout: Duration,
    /// The limit for all answers to one batch. Keep it below the relay's lease.
    pub confirm_timeout: Duration,
    /// The largest body that is sent, in bytes.
    pub max_body_bytes: usize,
    /// SQL transport: how long a delivery stays invisible to others unless its holder renews it.
    pub visibility_timeout: Duration,
    /// SQL transport: how often an idle consumer looks when no hint arrives.
    pub poll_interval: Duration,
}

impl Default for TransportOptions {
    fn default() -> Self {
        Self {
            client_name: "once-shop".to_owned(),
            declare: Declare::All,
            connect_timeout: Duration::from_secs(5),
            confirm_timeout: Duration::from_secs(5),
            max_body_bytes: 4 * 1024 * 1024,
            visibility_timeout: Duration::from_secs(5),
            poll_interval: Duration::from_millis(500),
        }
    }
}

/// Picks the transport for `url`. Connects to nothing yet: sessions do, when they are opened.
///
/// # Errors
/// [`TransportError::InvalidUrl`] when the URL can't be read or its scheme is unknown.
pub fn connect(
    url: &str,
    topology: Topology,
    options: TransportOptions,
) -> Result<Arc<dyn Transport>, TransportError> {
    match url.split_once("://").map(|(scheme, _)| scheme) {
        Some("amqp") => Ok(Arc::new(rabbitmq::RabbitMq::new(url, topology, options)?)),
        Some("sqlite" | "postgres" | "postgresql") => {
            Ok(Arc::new(sql::SqlTransport::new(url, topology, options)?))
        }
        Some("amqps") => Err(TransportError::InvalidUrl {
            url: redact(url),
            reason: "this build has no TLS; terminate it in front of the service".to_owned(),
        }),
        _ => Err(TransportError::InvalidUrl {
            url: redact(url),
            reason: "expected amqp://…, sqlite://… or postgres://…".to_owned(),
        }),
    }
}
