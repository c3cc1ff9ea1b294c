//! An empty broker of each kind, and the messages that go through it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use test_kit::{Backing, Storage, eventually, eventually_some};
use transport::{
    Consumer, Delivery, Message, Outcome, Properties, Publisher, Queue, Settlement, Topology,
    Transport, TransportError, TransportOptions, connect,
};

/// The queue of [`orders`].
pub(crate) const QUEUE: &str = "inventory.orders";

/// Where [`QUEUE`] gives up to.
pub(crate) const DEAD: &str = "inventory.orders.dead";

/// The routing key of [`message`].
pub(crate) const KEY: &str = "order.placed";

/// Far above what anything takes on a slow machine. A test that waits this long has failed.
const LIMIT: Duration = Duration::from_secs(60);

/// A broker that nobody else uses.
pub(crate) struct Broker {
    pub(crate) url: String,
    _storage: Storage,
}

impl Broker {
    pub(crate) async fn on_sqlite() -> Self {
        let storage = Storage::new(Backing::Embedded);
        let url = storage.create_broker().await.expect("a file");
        Self { url, _storage: storage }
    }

    pub(crate) async fn on_postgres() -> Self {
        let storage = Storage::new(Backing::Servers);
        let url = storage.create_database("broker").await.expect("a database");
        Self { url, _storage: storage }
    }

    pub(crate) async fn on_rabbitmq() -> Self {
        let storage = Storage::new(Backing::Servers);
        let url = storage.create_broker().await.expect("a virtual host");
        Self { url, _storage: storage }
    }

    /// Connections of their own, as another process has them.
    pub(crate) fn transport(&self, topology: Topology) -> Arc<dyn Transport> {
        self.transport_with(topology, options())
    }

    pub(crate) fn transport_with(
        &self,
        topology: Topology,
        options: TransportOptions,
    ) -> Arc<dyn Transport> {
        connect(&self.url, topology, options).expect("a valid URL")
    }

    /// A publisher in a process of its own.
    pub(crate) async fn publisher(&self) -> Box<dyn Publisher> {
        let transport = self.transport(orders());
        transport.publisher().await.expect("a publishing session")
    }

    /// A consumer of [`QUEUE`] in a process of its own.
    pub(crate) async fn consumer(&self, prefetch: u16) -> Box<dyn Consumer> {
        self.consumer_of(QUEUE, prefetch).await
    }

    pub(crate) async fn consumer_of(&self, queue: &str, prefetch: u16) -> Box<dyn Consumer> {
        let transport = self.transport(orders());
        let consumer = transport.consumer(queue, prefetch).await;
        consumer.expect("a consuming session")
    }
}

/// Opens a session, and again when the machine was too busy for it. That is no answer to what a
/// test asks; any other error is.
pub(crate) async fn open<S, F>(mut attempt: impl FnMut() -> F) -> S
where
    F: Future<Output = Result<S, TransportError>>,
{
    eventually_some("a session", || {
        let attempt = attempt();
        async {
            match attempt.await {
                Ok(session) => Some(session),
                Err(error) if is_overload(&error) => None,
                Err(error) => panic!("{}", error.one_line()),
            }
        }
    })
    .await
}

/// A connection that was not there in time; RabbitMQ's word for a queue that took it too long.
fn is_overload(error: &TransportError) -> bool {
    let text = error.one_line();
    ["pool timed out", "INTERNAL_ERROR"].iter().any(|word| text.contains(word))
}

/// Leases that never end by themselves: what comes again in a test has been given back.
pub(crate) fn options() -> TransportOptions {
    TransportOptions {
        client_name: "conformance".to_owned(),
        // Not what is tested, and a loaded machine may be slow.
        connect_timeout: LIMIT,
        confirm_timeout: LIMIT,
        visibility_timeout: Duration::from_secs(600),
        ..TransportOptions::default()
    }
}

/// One queue for all events of orders.
pub(crate) fn orders() -> Topology {
    queues([Queue::new(QUEUE, "order.*")])
}

pub(crate) fn queues(queues: impl IntoIterator<Item = Queue>) -> Topology {
    Topology {
        exchange: "shop.events".to_owned(),
        dead_letter_exchange: "shop.dead".to_owned(),
        queues: queues.into_iter().collect(),
    }
}

/// The message with this number, for [`QUEUE`].
pub(crate) fn message(number: usize) -> Message {
    Message {
        routing_key: KEY.to_owned(),
        properties: Properties {
            message_id: Some(format!("message-{number}")),
            kind: Some("OrderPlaced".to_owned()),
            content_type: Some("application/json".to_owned()),
            content_encoding: Some("identity".to_owned()),
            timestamp: Some(1_700_000_000),
            app_id: Some("conformance".to_owned()),
        },
        headers: [
            ("text".to_owned(), json!("café ☕")),
            ("integer".to_owned(), json!(-42)),
            ("bool".to_owned(), json!(true)),
            ("nested".to_owned(), json!({"list": [1, "two", {"three": false}]})),
        ]
        .into(),
        body: number.to_string().into_bytes(),
    }
}

pub(crate) fn messages(numbers: impl IntoIterator<Item = usize>) -> Vec<Message> {
    numbers.into_iter().map(message).collect()
}

/// The number of a [`message`].
pub(crate) fn number(delivery: &Delivery) -> usize {
    let text = str::from_utf8(&delivery.message.body).expect("digits");
    text.parse().expect("a number")
}

pub(crate) fn numbers(deliveries: &[Delivery]) -> Vec<usize> {
    deliveries.iter().map(number).collect()
}

/// Publishes, and insists on a confirm for each message.
pub(crate) async fn publish(publisher: &dyn Publisher, messages: &[Message]) {
    let published = publisher.publish(messages).await;
    assert!(published.lost.is_none(), "{published:?}");
    assert_eq!(published.outcomes, vec![Outcome::Confirmed; messages.len()]);
}

/// The next delivery.
pub(crate) async fn receive(consumer: &mut Box<dyn Consumer>) -> Delivery {
    let next = tokio::time::timeout(LIMIT, consumer.next()).await;
    let next = next.expect("a delivery, rather sooner than later");
    next.expect("a session that works")
}

/// Waits until the session has ended, and says why.
pub(crate) async fn end_of(consumer: &mut Box<dyn Consumer>) -> TransportError {
    let next = tokio::time::timeout(LIMIT, consumer.next()).await;
    let next = next.expect("an end, rather sooner than later");
    next.expect_err("the session has ended")
}

/// The next `count` deliveries, all of them outstanding.
pub(crate) async fn receive_many(consumer: &mut Box<dyn Consumer>, count: usize) -> Vec<Delivery> {
    let mut deliveries = Vec::with_capacity(count);
    while deliveries.len() < count {
        deliveries.push(receive(consumer).await);
    }
    deliveries
}

pub(crate) async fn settle(delivery: Delivery, settlement: Settlement) {
    let settled = delivery.settle(settlement).await;
    settled.expect("a session that works");
}

pub(crate) async fn settle_all(
    deliveries: impl IntoIterator<Item = Delivery>,
    settlement: Settlement,
) {
    for delivery in deliveries {
        settle(delivery, settlement).await;
    }
}

/// Asserts that [`QUEUE`] has nothing for its only consumer, now or later: its next message is the
/// one that is published last.
pub(crate) async fn assert_drained(broker: &Broker, consumer: &mut Box<dyn Consumer>) {
    let marker = message(usize::MAX);
    publish(&*broker.publisher().await, std::slice::from_ref(&marker)).await;
    let delivery = receive(consumer).await;
    assert_eq!(delivery.message.body, marker.body, "{delivery:?}");
    settle(delivery, Settlement::Ack).await;
}

/// Brokers add headers of their own; whatever was sent is there.
pub(crate) fn assert_intact(received: &Message, sent: &Message) {
    for (name, value) in &sent.headers {
        assert_eq!(received.headers.get(name), Some(value), "header {name}");
    }
    assert_eq!(received.properties, sent.properties);
    // Not `assert_eq`: a mebibyte of numbers explains nothing.
    assert!(received.body == sent.body, "the body of {:?} differs", sent.properties);
}

/// Waits until exactly so many messages wait in a queue.
pub(crate) async fn until_depth(transport: &dyn Transport, queue: &str, expected: u64) {
    let what = format!("{expected} messages in {queue}");
    eventually(&what, || async {
        let depths = transport.depths().await.expect("depths");
        let depth = depths.iter().find(|depth| depth.queue == queue);
        depth.is_some_and(|depth| depth.ready == expected)
    })
    .await;
}
