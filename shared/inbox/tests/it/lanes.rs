//! Several transactions at once. PostgreSQL only: SQLite has one writer.

use inbox::ConsumerOptions;
use test_kit::{Backing, eventually};

use crate::actor::Then;
use crate::bench::{Inbox, about, quick};

fn four_lanes() -> ConsumerOptions {
    ConsumerOptions { concurrency: 4, ..quick() }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_different_aggregates_are_handled_at_the_same_time() {
    let inbox = Inbox::new(Backing::Servers).await;
    let aggregates = 20;
    for aggregate in 0..aggregates {
        inbox.send(about(&format!("a{aggregate}-"), 1, Then::Wait));
    }
    let running = inbox.run_consumer(four_lanes());
    for _ in 0..4 {
        inbox.actor.waits().await; // one in each lane, and none of them has gone on
    }
    (0..aggregates).for_each(|_| inbox.actor.go_on());
    eventually("all are settled", async || inbox.broker.settled().len() == aggregates).await;
    running.stop().await;
    assert_eq!(inbox.effects().await.len(), aggregates);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_one_aggregate_are_handled_one_after_the_other() {
    let inbox = Inbox::new(Backing::Servers).await;
    for version in 1..=5 {
        inbox.send(about("a", version, Then::Wait));
    }
    for aggregate in ["b", "c", "d", "e", "f", "g", "h"] {
        inbox.send(about(aggregate, 1, Then::Ack));
    }
    // Without an order by version: the lanes alone must keep it.
    let running = inbox.run_consumer(four_lanes());
    for version in 1..=5 {
        inbox.actor.waits().await;
        let begun: Vec<_> =
            inbox.actor.calls().into_iter().filter(|call| call.starts_with('a')).collect();
        let expected: Vec<_> = (1..=version).map(|version| format!("a{version}")).collect();
        assert_eq!(begun, expected);
        inbox.actor.go_on();
    }
    eventually("all are settled", async || inbox.broker.settled().len() == 12).await;
    running.stop().await;
    assert_eq!(inbox.effects().await.len(), 12);
}
