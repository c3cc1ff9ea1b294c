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
use crate::broker::lost;

on_both_databases!(
    a_message_published_20_times_has_one_effect_and_garbage_is_parked,
    acks_lost_on_the_way_bring_messages_again_without_a_second_effect_or_parking,
);

async fn a_message_published_20_times_has_one_effect_and_garbage_is_parked(inbox: Inbox) {
    let broker = real_broker(&inbox).await;
    let mut messages = vec![message("it", Then::Ack); 20];
    messages.insert(7, garbage());
    publish(&broker, &messages).await;

    let running = run_consumer(&inbox, &broker);
    eventually("the queue is empty", async || is_empty(&broker).await).await;
    running.stop().await;

    assert_eq!(inbox.effects().await, ["it"]);
    assert_eq!(inbox.actor.calls(), ["it"]);
    let parked = inbox.parked().await;
    assert_eq!(parked.len(), 1);
    assert_eq!(parked[0].body, b"\x00\xff");
    assert_eq!(parked[0].reason, "malformed_message_id");
}

async fn acks_lost_on_the_way_bring_messages_again_without_a_second_effect_or_parking(
    inbox: Inbox,
) {
    let broker = real_broker(&inbox).await;
    publish(&broker, &[garbage(), message("it", Then::Ack), message("parked", Then::Park)]).await;

    let losing = LosingAcks { broker: broker.clone(), acks_to_lose: Arc::new(3.into()) };
    let acks_to_lose = losing.acks_to_lose.clone();
    let running = run_consumer(&inbox, &(Arc::new(losing) as Arc<dyn Transport>));
    eventually("acks were lost", async || acks_to_lose.load(Ordering::SeqCst) == 0).await;
    eventually("the queue is empty", async || is_empty(&broker).await).await;
    running.stop().await;

    assert_eq!(inbox.effects().await, ["it"]);
    let mut reasons: Vec<_> =
        inbox.parked().await.into_iter().map(|parked| parked.reason).collect();
    reasons.sort_unstable();
    assert_eq!(reasons, ["handler_failed", "malformed_message_id"], "each of them once");
}

fn garbage() -> Message {
    Message {
        routing_key: "act.done".to_owned(),
        body: b"\x00\xff".to_vec(),
        ..Message::default()
    }
}

async fn real_broker(inbox: &Inbox) -> Arc<dyn Transport> {
    let topology = Topology {
        exchange: "shop.events".to_owned(),
        dead_letter_exchange: "shop.dead-letters".to_owned(),
        queues: vec![Queue::new(QUEUE, "act.*")],
    };
    let url = inbox.storage.create_broker().await.expect("a broker");
    transport::connect(&url, topology, TransportOptions::default()).expect("a valid URL")
}

async fn publish(broker: &Arc<dyn Transport>, messages: &[Message]) {
    let publisher = broker.publisher().await.expect("a session");
    let published = publisher.publish(messages).await;
    assert!(published.outcomes.iter().all(|outcome| *outcome == Outcome::Confirmed));
    assert_eq!(published.outcomes.len(), messages.len());
}

fn run_consumer(inbox: &Inbox, broker: &Arc<dyn Transport>) -> Running {
    let consumer =
        Consumer::new(inbox.another_pool(), broker.clone(), inbox.actor.clone(), quick());
    Running::start(consumer)
}

/// Whether everything was acknowledged. RabbitMQ does not count what is in somebody's hand, so a
/// consumer must also have ended its work: it is asked for twice in a row.
async fn is_empty(broker: &Arc<dyn Transport>) -> bool {
    let depths: Vec<QueueDepth> = broker.depths().await.expect("depths");
    depths.iter().all(|depth| depth.ready == 0)
}

/// The real broker behind a line that loses acknowledgements, and the session with each.
struct LosingAcks {
    broker: Arc<dyn Transport>,
    acks_to_lose: Arc<AtomicUsize>,
}

#[async_trait]
impl Transport for LosingAcks {
    async fn publisher(&self) -> Result<Box<dyn Publisher>, TransportError> {
        self.broker.publisher().await
    }

    async fn consumer(
        &self,
        queue: &str,
        prefetch: u16,
    ) -> Result<Box<dyn transport::Consumer>, TransportError> {
        let session = self.broker.consumer(queue, prefetch).await?;
        Ok(Box::new(LosingSession { session, acks_to_lose: self.acks_to_lose.clone() }))
    }

    async fn depths(&self) -> Result<Vec<QueueDepth>, TransportError> {
        self.broker.depths().await
    }
}

struct LosingSession {
    session: Box<dyn transport::Consumer>,
    acks_to_lose: Arc<AtomicUsize>,
}

#[async_trait]
impl transport::Consumer for LosingSession {
    async fn next(&mut self) -> Result<Delivery, TransportError> {
        let delivery = self.session.next().await?;
        let (message, redelivered) = (delivery.message.clone(), delivery.redelivered);
        let settle = LosingSettle { delivery, acks_to_lose: self.acks_to_lose.clone() };
        Ok(Delivery::new(message, redelivered, Box::new(settle)))
    }
}

struct LosingSettle {
    delivery: Delivery,
    acks_to_lose: Arc<AtomicUsize>,
}

#[async_trait]
impl Settle for LosingSettle {
    async fn settle(self: Box<Self>, settlement: Settlement) -> Result<(), TransportError> {
        let left = self.acks_to_lose.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| {
            n.checked_sub(1)
        });
        match left {
            Ok(_) => Err(lost()),
            Err(_) => self.delivery.settle(settlement).await,
        }
    }
}
