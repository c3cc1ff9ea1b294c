//! The transport for RabbitMQ, on lapin.
//!
//! | file | job |
//! | --- | --- |
//! | `nodes` | the broker's URL: which nodes there are, and which one a session gets |
//! | `session` | one connection: opened, watched and closed within time limits |
//! | `declare` | exchanges, queues, bindings |
//! | `publisher` | a publishing session |
//! | `batch` | sends a batch and waits for all its confirms |
//! | `channels` | one channel for each batch that is under way |
//! | `accounting` | which message of the batch got which answer |
//! | `consumer` | deliveries and their settlement |
//! | `depths` | how full the queues are |
//! | `wire`, `headers` | messages and header values as AMQP carries them |
//! | `errors` | what a failure of the library means to a session's owner |
//!
//! Publishers and consumers never share a connection: when the broker runs short of memory or
//! disk space it stops reading from connections that publish, and acknowledgements on them
//! would be stuck with the rest. Consumers must go on, or the queues would never drain.

mod accounting;
mod batch;
mod channels;
mod consumer;
mod declare;
mod depths;
mod errors;
mod headers;
mod nodes;
mod publisher;
mod session;
mod wire;

use async_trait::async_trait;
use lapin::Channel;

use crate::{
    Consumer, Publisher, QueueDepth, Topology, Transport, TransportError, TransportOptions, redact,
};
use declare::Purpose;
use nodes::Nodes;
use session::{Deadline, Session};

/// Opens sessions on a RabbitMQ broker.
pub struct RabbitMq {
    broker: Broker,
    depths: depths::Depths,
}

impl RabbitMq {
    /// Reads the URL; connects to nothing yet.
    ///
    /// # Errors
    /// [`TransportError::InvalidUrl`] when `url` is not `amqp://user:password@host:port,…/vhost`.
    pub fn new(
        url: &str,
        topology: Topology,
        options: TransportOptions,
    ) -> Result<Self, TransportError> {
        let nodes = Nodes::parse(url)
            .map_err(|reason| TransportError::InvalidUrl { url: redact(url), reason })?;
        let broker = Broker { nodes, topology, options };
        Ok(Self { broker, depths: depths::Depths::default() })
    }
}

#[async_trait]
impl Transport for RabbitMq {
    async fn publisher(&self) -> Result<Box<dyn Publisher>, TransportError> {
        Ok(Box::new(publisher::RabbitPublisher::open(&self.broker).await?))
    }

    async fn consumer(
        &self,
        queue: &str,
        prefetch: u16,
    ) -> Result<Box<dyn Consumer>, TransportError> {
        Ok(Box::new(consumer::RabbitConsumer::open(&self.broker, queue, prefetch).await?))
    }

    async fn depths(&self) -> Result<Vec<QueueDepth>, TransportError> {
        self.depths.read(&self.broker).await
    }
}

/// Where the broker is and what we expect of it.
struct Broker {
    nodes: Nodes,
    topology: Topology,
    options: TransportOptions,
}

impl Broker {
    fn deadline(&self) -> Deadline {
        Deadline::after(self.options.connect_timeout)
    }

    /// Opens a connection that shows up as `<client name> <role>`.
    async fn connect(&self, role: &str, deadline: Deadline) -> Result<Session, TransportError> {
        let name = format!("{} {role}", self.options.client_name);
        self.nodes.connect(&name, deadline).await
    }

    /// Opens a channel and declares on it what a session with this purpose has to.
    async fn declared_channel(
        &self,
        session: &Session,
        purpose: Purpose<'_>,
        deadline: Deadline,
    ) -> Result<Channel, TransportError> {
        let channel = session.channel(deadline).await?;
        let failed = |error| session.opening_error(error);
        let declared = declare::topology(&channel, self, purpose, failed);
        deadline.limit("declaring the topology", declared).await?;
        Ok(channel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unusable_url_is_refused_without_showing_its_password() {
        for url in [
            "amqps://shop:secret@broker/shop",
            "amqp://shop:secret@broker:port/shop",
            "amqp://shop:secret@broker?heartbeat=often",
            "http://shop:secret@broker",
            "amqp:shop:secret@broker",
            "shop:secret@broker",
            "",
        ] {
            let topology = Topology {
                exchange: "events".to_owned(),
                dead_letter_exchange: "dead".to_owned(),
                queues: Vec::new(),
            };
            let error = RabbitMq::new(url, topology, TransportOptions::default())
                .err()
                .unwrap_or_else(|| panic!("{url} was taken"));
            assert!(matches!(error, TransportError::InvalidUrl { .. }), "{error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
