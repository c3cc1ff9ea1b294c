//! The transport for RabbitMQ, on lapin.
//!
//! | file | job |
//! | --- | --- |
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
mod publisher;
mod session;
mod wire;

use async_trait::async_trait;
use lapin::Channel;
use lapin::uri::{AMQPScheme, AMQPUri};

use crate::{
    Consumer, Publisher, QueueDepth, Topology, Transport, TransportError, TransportOptions, redact,
};
use session::{Deadline, Session};

/// Seconds of silence after which a peer counts as half dead; it is given up after twice that.
/// The server's own default is 60.
const HEARTBEAT: u16 = 10;

/// Opens sessions on a RabbitMQ broker.
pub struct RabbitMq {
    broker: Broker,
    depths: depths::Depths,
}

impl RabbitMq {
    /// Reads the URL; connects to nothing yet.
    ///
    /// # Errors
    /// [`TransportError::InvalidUrl`] when `url` is not `amqp://user:password@host:port/vhost`.
    pub fn new(
        url: &str,
        topology: Topology,
        options: TransportOptions,
    ) -> Result<Self, TransportError> {
        let uri =
            parse(url).map_err(|reason| TransportError::InvalidUrl { url: redact(url), reason })?;
        let broker = Broker { uri, url: redact(url), topology, options };
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
    uri: AMQPUri,
    /// Without the password: for messages.
    url: String,
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
        Session::open(&self.uri, &self.url, &name, deadline).await
    }

    /// Opens a channel and declares the topology on it.
    async fn declared_channel(
        &self,
        session: &Session,
        deadline: Deadline,
    ) -> Result<Channel, TransportError> {
        let channel = session.channel(deadline).await?;
        let failed = |error| session.opening_error(error);
        let declared = declare::topology(&channel, &self.topology, failed);
        deadline.limit("declaring the topology", declared).await?;
        Ok(channel)
    }
}

/// Reads the URL, and refuses what lapin would silently read as something else.
fn parse(url: &str) -> Result<AMQPUri, String> {
    let mut uri: AMQPUri = url.parse().map_err(|reason: String| {
        // Some of the library's texts quote the URL, and with it the password.
        if reason.contains(url) { "not a URL".to_owned() } else { reason }
    })?;
    if uri.scheme != AMQPScheme::AMQP {
        // Built without TLS, lapin would connect in plain text and send the password.
        return Err("only amqp:// is supported".to_owned());
    }
    if let Some(address) = ipv6_host(url) {
        // lapin only keeps names, and would connect to localhost instead.
        uri.authority.host = address.to_owned();
    }
    uri.query.heartbeat.get_or_insert(HEARTBEAT);
    Ok(uri)
}

fn ipv6_host(url: &str) -> Option<&str> {
    let authority = url.split_once("://")?.1.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    host.strip_prefix('[')?.split_once(']').map(|(address, _)| address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_read_with_a_heartbeat_of_its_own() {
        let uri = parse("amqp://shop:s%40cret@broker:5673/shop").expect("valid");
        assert_eq!(uri.authority.host, "broker");
        assert_eq!(uri.authority.port, 5673);
        assert_eq!(uri.authority.userinfo.password, "s@cret");
        assert_eq!(uri.vhost, "shop");
        assert_eq!(uri.query.heartbeat, Some(10));
        assert_eq!(parse("amqp://broker").expect("valid").vhost, "/");
        let own = parse("amqp://broker?heartbeat=3").expect("valid");
        assert_eq!(own.query.heartbeat, Some(3));
    }

    #[test]
    fn an_ipv6_address_is_not_replaced_by_localhost() {
        let uri = parse("amqp://shop:secret@[fd00::7]:5673/shop").expect("valid");
        assert_eq!((uri.authority.host.as_str(), uri.authority.port), ("fd00::7", 5673));
    }

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
