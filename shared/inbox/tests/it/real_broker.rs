//! The same consumer on the real broker of each way of running.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use inbox::Consumer;
use test_kit::eventually;
use transport::{
    Delivery, Message, Outcome, Publisher, Queue, QueueDepth, Settle, Settlement, Topology,
    Transport, TransportError, TransportOptions,
};

use crate::actor::Then;
use crate::bench::{Inbox, QUEUE, Running, message, quick};
use crate::broker::{lost, take_one};

on_both_databases!(
    a_message_published_20_times_has_one_effect_and_garbage_is_parked,
    acks_lost_on_the_way_bring_messages_again_without_a_second_effect_or_parking,
);

async fn a_message_published_20_times_has_one_effect_and_garbage_is_parked(inbox: Inbox) {
    let broker = WatchedBroker::new(&inbox, 0).await;
    let mut messages = vec![message("it", Then::Ack); 20];
    messages.insert(7, garbage());
    broker.publish(&messages).await;

    let running = run_consumer(&inbox, &broker);
    eventually("all are settled", async || broker.acks() == 21).await;
    running.stop().await;

    assert_eq!(inbox.effects().await, ["it"]);
    assert_eq!(inbox.actor.calls(), ["it"]);
    let parked = inbox.parked().await;
    assert_eq!(parked.len(), 1);
    assert_eq!(parked[0].body, b"\x00\xff");
    assert_eq!(parked[0].reason, "malformed_message_id");
    broker.assert_empty().await;
}

async fn acks_lost_on_the_way_bring_messages_again_without_a_second_effect_or_parking(
    inbox: Inbox,
) {
    let broker = WatchedBroker::new(&inbox, 3).await;
    broker.publish(&[garbage(), message("it", Then::Ack), message("parked", Then::Park)]).await;

    let running = run_consumer(&inbox, &broker);
    eventually("all are settled", async || broker.acks() == 3).await;
    running.stop().await;

    assert_eq!(broker.0.acks_to_lose.load(Ordering::SeqCst), 0, "they were lost indeed");
    assert_eq!(inbox.effects().await, ["it"]);
    let mut reasons: Vec<_> =
        inbox.parked().await.into_iter().map(|parked| parked.reason).collect();
    reasons.sort_unstable();
    assert_eq!(reasons, ["handler_failed", "malformed_message_id"], "each of them once");
    broker.assert_empty().await;
}

fn garbage() -> Message {
    Message { routing_key: "act.done".to_owned(), body: b"\x00\xff".to_vec(), ..Message::default() }
}

fn run_consumer(inbox: &Inbox, broker: &WatchedBroker) -> Running {
    let transport = Arc::new(broker.clone());
    Running::start(Consumer::new(inbox.another_pool(), transport, inbox.actor.clone(), quick()))
}

/// The real broker, behind a line that counts acknowledgements and loses the first ones, and the
/// session with each.
#[derive(Clone)]
struct WatchedBroker(Arc<Line>);

struct Line {
    broker: Arc<dyn Transport>,
    acks_to_lose: AtomicUsize,
    acks: AtomicUsize,
}

impl WatchedBroker {
    async fn new(inbox: &Inbox, acks_to_lose: usize) -> Self {
        let topology = Topology {
            exchange: "shop.events".to_owned(),
            dead_letter_exchange: "shop.dead-letters".to_owned(),
            queues: vec![Queue::new(QUEUE, "act.*")],
        };
        let url = inbox.storage.create_broker().await.expect("a broker");
        let broker = transport::connect(&url, topology, TransportOptions::default());
        Self(Arc::new(Line {
            broker: broker.expect("a valid URL"),
            acks_to_lose: acks_to_lose.into(),
            acks: AtomicUsize::default(),
        }))
    }

    async fn publish(&self, messages: &[Message]) {
        let publisher = self.publisher().await.expect("a session");
        let outcomes = publisher.publish(messages).await.outcomes;
        assert_eq!(outcomes, vec![Outcome::Confirmed; messages.len()]);
    }

    /// How many acknowledgements have arrived.
    fn acks(&self) -> usize {
        self.0.acks.load(Ordering::SeqCst)
    }

    async fn assert_empty(&self) {
        let depths = self.depths().await.expect("depths");
        assert!(
            depths.iter().all(|depth| depth.ready + depth.unacked.unwrap_or(0) == 0),
            "{depths:?}"
        );
    }
}

#[async_trait]
impl Transport for WatchedBroker {
    async fn publisher(&self) -> Result<Box<dyn Publisher>, TransportError> {
        self.0.broker.publisher().await
    }

    async fn consumer(
        &self,
        queue: &str,
        prefetch: u16,
    ) -> Result<Box<dyn transport::Consumer>, TransportError> {
        let session = self.0.broker.consumer(queue, prefetch).await?;
        Ok(Box::new(WatchedSession { session, line: self.0.clone() }))
    }

    async fn depths(&self) -> Result<Vec<QueueDepth>, TransportError> {
        self.0.broker.depths().await
    }
}

struct WatchedSession {
    session: Box<dyn transport::Consumer>,
    line: Arc<Line>,
}

#[async_trait]
impl transport::Consumer for WatchedSession {
    async fn next(&mut self) -> Result<Delivery, TransportError> {
        let delivery = self.session.next().await?;
        let (message, redelivered) = (delivery.message.clone(), delivery.redelivered);
        let settle = WatchedSettle { delivery, line: self.line.clone() };
        Ok(Delivery::new(message, redelivered, Box::new(settle)))
    }
}

struct WatchedSettle {
    delivery: Delivery,
    line: Arc<Line>,
}

#[async_trait]
impl Settle for WatchedSettle {
    async fn settle(self: Box<Self>, settlement: Settlement) -> Result<(), TransportError> {
        if take_one(&self.line.acks_to_lose) {
            return Err(lost());
        }
        self.delivery.settle(settlement).await?;
        self.line.acks.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}
