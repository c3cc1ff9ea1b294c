//! The order of each aggregate, by the versions that its messages carry.

use std::time::Duration;

use futures_util::future::join_all;
use inbox::{Consumer, ConsumerCounts, ConsumerOptions};
use test_kit::{Backing, eventually};
use transport::Message;

use crate::actor::{Actor, Then};
use crate::bench::{Inbox, QUEUE, Running, about, message, quick};

on_both_databases!(
    versions_that_arrive_in_any_order_take_effect_in_their_own,
    a_gap_holds_its_own_aggregate_only_and_charges_nobody,
    a_version_that_never_comes_is_waited_for_no_longer_than_told,
    a_version_that_comes_after_a_later_one_has_no_effect_and_is_no_duplicate,
    a_parked_version_does_not_hold_its_followers,
    a_version_parked_after_a_gap_was_given_up_does_not_open_it_anew,
    a_dead_letter_does_not_hold_its_followers,
    a_version_parked_before_its_turn_does_not_make_earlier_ones_late,
    a_version_that_is_tried_again_is_not_overtaken_by_its_followers,
    a_version_that_is_tried_again_for_longer_than_the_gap_is_parked_and_never_dropped,
    a_late_version_that_was_delivered_before_but_never_started_is_dropped,
    several_consumers_of_one_queue_keep_the_order_of_each_aggregate,
    without_readable_headers_messages_are_handled_as_they_come,
    types_of_aggregates_have_versions_of_their_own,
);

/// Waits for a missing version longer than any test runs.
fn ordered() -> ConsumerOptions {
    ConsumerOptions { gap_wait: Some(Duration::from_secs(3600)), ..quick() }
}

/// Does not wait for it at all.
fn hasty() -> ConsumerOptions {
    ConsumerOptions { gap_wait: Some(Duration::ZERO), ..quick() }
}

fn start(consumer: Consumer<Actor>) -> (Running, ConsumerCounts) {
    let counts = consumer.counts();
    (Running::start(consumer), counts)
}

/// Runs a consumer over `messages` until all are settled.
async fn run(inbox: &Inbox, options: ConsumerOptions, messages: Vec<Message>) -> ConsumerCounts {
    let before = inbox.broker.settled().len();
    let count = messages.len();
    for message in messages {
        inbox.send(message);
    }
    let (running, counts) = start(inbox.consumer(options));
    eventually("all are settled", async || inbox.broker.settled().len() == before + count).await;
    running.stop().await;
    inbox.broker.acked();
    counts
}

async fn versions_that_arrive_in_any_order_take_effect_in_their_own(inbox: Inbox) {
    let versions = [3, 5, 2, 1, 4];
    let messages = versions
        .iter()
        .flat_map(|version| ["a", "b"].map(|aggregate| about(aggregate, *version, Then::Ack)));
    let counts = run(&inbox, ordered(), messages.collect()).await;
    for aggregate in ["a", "b"] {
        let calls = inbox.actor.calls().into_iter().filter(|call| call.starts_with(aggregate));
        let expected: Vec<_> = (1..=5).map(|version| format!("{aggregate}{version}")).collect();
        assert_eq!(calls.collect::<Vec<_>>(), expected);
    }
    assert_eq!(inbox.effects().await.len(), 10);
    let totals = counts.totals();
    assert_eq!((totals.processed, totals.stale, totals.gaps_given_up), (10, 0, 0));
}

async fn a_gap_holds_its_own_aggregate_only_and_charges_nobody(inbox: Inbox) {
    inbox.broker.redeliver(QUEUE, about("a", 2, Then::Ack));
    inbox.send(about("a", 3, Then::Ack));
    let others: Vec<_> =
        (1..=5).map(|version| inbox.send(about("b", version, Then::Ack))).collect();
    let running = inbox.run_consumer(ordered());
    eventually("the others are settled", async || inbox.broker.acked() == others).await;
    assert_eq!(inbox.starts().await, [], "who waits is not charged");

    inbox.send(about("a", 1, Then::Ack));
    eventually("all are settled", async || inbox.broker.acked().len() == 8).await;
    running.stop().await;
    assert_eq!(inbox.actor.calls()[5..], ["a1", "a2", "a3"]);
}

async fn a_version_that_never_comes_is_waited_for_no_longer_than_told(inbox: Inbox) {
    let messages = vec![about("a", 6, Then::Ack), about("a", 5, Then::Ack)];
    let options = ConsumerOptions { gap_wait: Some(Duration::from_millis(50)), ..quick() };
    let counts = run(&inbox, options, messages).await;
    assert_eq!(inbox.actor.calls(), ["a5", "a6"]);
    assert_eq!(counts.totals().gaps_given_up, 1, "after the 5, the 6 is next");
}

async fn a_version_that_comes_after_a_later_one_has_no_effect_and_is_no_duplicate(inbox: Inbox) {
    let second = about("a", 2, Then::Ack);
    run(&inbox, hasty(), vec![second.clone()]).await;
    let late = about("a", 1, Then::Ack);
    let counts = run(&inbox, hasty(), vec![late.clone(), second, late]).await;

    assert_eq!(inbox.actor.calls(), ["a2"]);
    assert_eq!(inbox.effects().await, ["a2"]);
    assert_eq!(
        inbox.known().await,
        2,
        "the late one is known too, so that its copy is a duplicate"
    );
    let totals = counts.totals();
    assert_eq!((totals.processed, totals.stale, totals.duplicates), (0, 1, 2));
    assert_eq!(inbox.parked().await, []);
}

async fn a_parked_version_does_not_hold_its_followers(inbox: Inbox) {
    let unreadable = Message { body: b"{".to_vec(), ..about("a", 2, Then::Ack) };
    let messages = vec![
        about("a", 1, Then::Park),
        unreadable,
        about("a", 3, Then::Retry),
        about("a", 4, Then::Ack),
    ];
    run(&inbox, ordered(), messages).await;
    assert_eq!(inbox.effects().await, ["a4"]);
    assert_eq!(inbox.parked().await.len(), 3);
}

async fn a_version_parked_after_a_gap_was_given_up_does_not_open_it_anew(inbox: Inbox) {
    let messages = vec![about("a", 5, Then::Park), about("a", 6, Then::Ack)];
    let counts = run(&inbox, hasty(), messages).await;
    assert_eq!(inbox.effects().await, ["a6"]);
    assert_eq!(counts.totals().gaps_given_up, 0, "the 6 found no gap");
}

async fn a_dead_letter_does_not_hold_its_followers(inbox: Inbox) {
    inbox.broker.send("acts.dead", about("a", 1, Then::Ack));
    inbox.send(about("a", 2, Then::Ack));
    let running = inbox.run_consumer(ordered());
    eventually("both are settled", async || inbox.broker.settled().len() == 2).await;
    running.stop().await;
    assert_eq!(inbox.effects().await, ["a2"]);
}

async fn a_version_parked_before_its_turn_does_not_make_earlier_ones_late(inbox: Inbox) {
    let unreadable = Message { body: b"{".to_vec(), ..about("a", 2, Then::Ack) };
    run(&inbox, ordered(), vec![unreadable, about("a", 1, Then::Ack)]).await;
    assert_eq!(inbox.effects().await, ["a1"]);
}

/// Not even by those who would not wait for a missing one.
async fn a_version_that_is_tried_again_is_not_overtaken_by_its_followers(inbox: Inbox) {
    let messages = vec![about("a", 1, Then::RetryTwice), about("a", 2, Then::Ack)];
    let counts = run(&inbox, ConsumerOptions { batch: 1, ..hasty() }, messages).await;
    assert_eq!(inbox.actor.calls(), ["a1", "a1", "a1", "a2"]);
    assert_eq!(counts.totals().stale, 0);
}

/// Its followers are at another consumer, which can't see that it is being tried again.
async fn a_version_that_is_tried_again_for_longer_than_the_gap_is_parked_and_never_dropped(
    inbox: Inbox,
) {
    let first = about("a", 1, Then::Ack);
    inbox.actor.fail("a1", u32::MAX);
    inbox.send(first.clone());
    let stubborn = ConsumerOptions { prefetch: 1, max_attempts: 1000, ..hasty() };
    let (one, one_counts) = start(inbox.consumer(stubborn));
    eventually("it is tried again", async || !inbox.starts().await.is_empty()).await;
    inbox.send(about("a", 2, Then::Ack));
    let (other, other_counts) = start(inbox.consumer(hasty()));
    eventually("both are settled", async || inbox.broker.settled().len() == 2).await;
    one.stop().await;

    let parked = inbox.parked().await;
    assert_eq!(parked.len(), 1);
    assert_eq!((parked[0].reason.as_str(), &parked[0].body), ("stale", &first.body));
    assert_eq!(inbox.effects().await, ["a2"]);
    assert_eq!(inbox.starts().await, []);
    assert_eq!((one_counts.totals().parked, other_counts.totals().gaps_given_up), (1, 1));

    // A copy must not look like its effect.
    inbox.send(first);
    eventually("the copy is settled", async || inbox.broker.settled().len() == 3).await;
    other.stop().await;
    inbox.broker.acked();
    assert_eq!((inbox.known().await, inbox.parked().await.len()), (1, 1));
}

async fn a_late_version_that_was_delivered_before_but_never_started_is_dropped(inbox: Inbox) {
    run(&inbox, hasty(), vec![about("a", 2, Then::Ack)]).await;
    inbox.broker.redeliver(QUEUE, about("a", 1, Then::Ack));
    let (running, counts) = start(inbox.consumer(hasty()));
    eventually("both are settled", async || inbox.broker.settled().len() == 2).await;
    running.stop().await;
    assert_eq!((counts.totals().stale, inbox.parked().await.len()), (1, 0));
}

async fn several_consumers_of_one_queue_keep_the_order_of_each_aggregate(inbox: Inbox) {
    let aggregates = ["a", "b", "c", "d", "e", "f"];
    for version in 1..=8 {
        for aggregate in aggregates {
            inbox.send(about(aggregate, version, Then::Ack));
        }
    }
    let options = ConsumerOptions { prefetch: 4, concurrency: 2, ..ordered() };
    let consumers: Vec<_> = (0..3).map(|_| inbox.run_consumer(options.clone())).collect();
    eventually("all are settled", async || inbox.broker.settled().len() == 48).await;
    join_all(consumers.into_iter().map(Running::stop)).await;
    for aggregate in aggregates {
        let mut calls: Vec<_> =
            inbox.actor.calls().into_iter().filter(|call| call.starts_with(aggregate)).collect();
        calls.dedup(); // a transaction may have been run again
        let expected: Vec<_> = (1..=8).map(|version| format!("{aggregate}{version}")).collect();
        assert_eq!(calls, expected);
    }
    assert_eq!(inbox.effects().await.len(), 48);
}

async fn without_readable_headers_messages_are_handled_as_they_come(inbox: Inbox) {
    let mut unreadable = about("a", 7, Then::Ack);
    unreadable.headers.insert("aggregate-version".to_owned(), "seven".into());
    run(&inbox, ordered(), vec![unreadable, message("it", Then::Ack)]).await;
    assert_eq!(inbox.effects().await, ["a7", "it"]);
}

async fn types_of_aggregates_have_versions_of_their_own(inbox: Inbox) {
    let of_type = |kind: &str, version| {
        let mut message = about("a", version, Then::Ack);
        message.headers.insert("aggregate-type".to_owned(), kind.into());
        message
    };
    let messages = vec![of_type("order", 1), of_type("reservation", 1), of_type("order", 2)];
    let counts = run(&inbox, ordered(), messages).await;
    assert_eq!(counts.totals().processed, 3);
}

/// PostgreSQL only: on SQLite the first one has the write lock.
#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_is_overtaken_while_it_is_handled_is_rolled_back_and_dropped() {
    let inbox = Inbox::new(Backing::Servers).await;
    inbox.send(about("a", 1, Then::Wait));
    let one = ConsumerOptions { prefetch: 1, ..hasty() };
    let (first, counts) = start(inbox.consumer(one.clone()));
    inbox.actor.waits().await;

    let second = inbox.send(about("a", 2, Then::Ack));
    let other = inbox.run_consumer(one);
    eventually("the other one has overtaken it", async || inbox.broker.acked() == [second]).await;
    inbox.actor.go_on();
    eventually("both are settled", async || inbox.broker.acked().len() == 2).await;
    join_all([first.stop(), other.stop()]).await;
    assert_eq!(inbox.effects().await, ["a2"]);
    assert_eq!(counts.totals().stale, 1);
}
