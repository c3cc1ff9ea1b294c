//! How many messages a consumer takes in a second, measured on request:
//!
//! ```console
//! $ target/debug/with-servers cargo test -p inbox --release --test it throughput -- --ignored --nocapture
//! ```

use std::time::{Duration, Instant};

use inbox::{Consumer, ConsumerOptions};
use test_kit::{Backing, eventually};
use transport::{Message, Outcome, Queue, Topology, TransportOptions};

use crate::actor::Then;
use crate::bench::{Inbox, QUEUE, Running, about, quick};

const AGGREGATES: usize = 1000;
const VERSIONS: i64 = 3;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn messages_a_second() {
    for backing in [Backing::Servers, Backing::Embedded] {
        for (batch, concurrency) in [(1, 1), (10, 1), (50, 1), (200, 1), (50, 2), (50, 4)] {
            let rate = measure(backing, batch, concurrency).await;
            println!("{backing:?}: batches of {batch}, {concurrency} at once: {rate:.0} a second");
        }
    }
}

async fn measure(backing: Backing, batch: usize, concurrency: usize) -> f64 {
    let inbox = Inbox::new(backing).await;
    let topology = Topology {
        exchange: "shop.events".to_owned(),
        dead_letter_exchange: "shop.dead-letters".to_owned(),
        queues: vec![Queue::new(QUEUE, "act.*")],
    };
    let broker = inbox.storage.create_broker().await.expect("a broker");
    let transport = transport::connect(&broker, topology, TransportOptions::default());
    let transport = transport.expect("a valid URL");
    let publisher = transport.publisher().await.expect("a session");
    for version in 1..=VERSIONS {
        let messages: Vec<Message> = (0..AGGREGATES)
            .map(|aggregate| about(&format!("a{aggregate}-"), version, Then::Ack))
            .collect();
        let outcomes = publisher.publish(&messages).await.outcomes;
        assert!(outcomes.iter().all(|outcome| *outcome == Outcome::Confirmed));
    }

    let options = ConsumerOptions {
        prefetch: 400,
        batch,
        concurrency,
        gap_wait: Some(Duration::from_secs(10)),
        ..quick()
    };
    let consumer = Consumer::new(inbox.another_pool(), transport, inbox.actor.clone(), options);
    let counts = consumer.counts();
    let expected = AGGREGATES as u64 * VERSIONS.unsigned_abs();
    let started = Instant::now();
    let running = Running::start(consumer);
    eventually("all are processed", async || counts.totals().processed == expected).await;
    let seconds = started.elapsed().as_secs_f64();
    running.stop().await;
    assert_eq!(inbox.effects().await.len() as u64, expected);
    expected as f64 / seconds
}
