//! Batches overlap: the next is claimed while the last is being confirmed.

use outbox::RelayOptions;
use test_kit::eventually;
use tokio_util::sync::CancellationToken;
use transport::Outcome;

use crate::bench::{Outbox, message, quick};

on_both_databases!(
    the_next_batch_is_published_while_the_last_one_is_being_confirmed,
    an_aggregate_is_in_one_of_the_overlapping_batches_only,
    the_rows_behind_a_batch_go_as_soon_as_it_is_marked,
    batches_that_a_lost_session_had_in_flight_are_published_again_and_cost_no_try,
    the_late_news_of_an_old_sessions_loss_does_not_touch_the_new_session,
);

/// Batches of two, two of them at once, and no poll that could help.
fn options() -> RelayOptions {
    RelayOptions {
        batch_size: 2,
        batches_in_flight: 2,
        poll_interval: crate::bench::HOUR,
        ..quick()
    }
}

async fn the_next_batch_is_published_while_the_last_one_is_being_confirmed(outbox: Outbox) {
    for number in 0..4 {
        outbox.append(message(&format!("a{number}"), 1)).await;
    }
    let gate = outbox.broker.hold_next_publish();
    let running = outbox.run_relay(options());
    gate.reached().await;

    eventually("the second batch is sent", async || outbox.counts().await.sent == 2).await;
    assert_eq!(outbox.broker.batches().len(), 2);

    gate.open();
    eventually("the first one too", async || outbox.counts().await.sent == 4).await;
    running.stop().await;
}

async fn an_aggregate_is_in_one_of_the_overlapping_batches_only(outbox: Outbox) {
    outbox.append_versions("a", [1, 2]).await;
    for number in 0..3 {
        outbox.append(message(&format!("b{number}"), 1)).await;
    }
    let gate = outbox.broker.hold_next_publish();
    let running = outbox.run_relay(options());
    gate.reached().await;
    eventually("the others are sent", async || outbox.counts().await.sent == 2).await;
    assert_eq!(outbox.broker.versions()["a"], [1], "its head is in flight");

    gate.open();
    eventually("all are sent", async || outbox.counts().await.sent == 5).await;
    assert_eq!(outbox.broker.versions()["a"], [1, 2]);
    running.stop().await;
}

async fn the_rows_behind_a_batch_go_as_soon_as_it_is_marked(outbox: Outbox) {
    outbox.append_versions("a", 1..=10).await;
    let running = outbox.run_relay(options());
    eventually("all are sent, without a poll", async || outbox.counts().await.sent == 10).await;
    assert!(outbox.broker.versions()["a"].iter().copied().eq(1..=10));
    running.stop().await;
}

async fn batches_that_a_lost_session_had_in_flight_are_published_again_and_cost_no_try(
    outbox: Outbox,
) {
    for number in 0..8 {
        outbox.append(message(&format!("a{number}"), 1)).await;
    }
    let mut answers = 0;
    outbox.broker.answer(move |_| {
        answers += 1;
        if answers <= 2 { Outcome::Unknown } else { Outcome::Confirmed }
    });
    outbox.broker.lose_session_at_next_publish();
    let running = outbox.run_relay(options());

    eventually("all are sent", async || outbox.counts().await.sent == 8).await;
    running.stop().await;
    let rows = outbox.all_rows().await;
    assert!(rows.iter().all(|row| row.retry_count == 0 && row.is_unclaimed()), "{rows:?}");
}

async fn the_late_news_of_an_old_sessions_loss_does_not_touch_the_new_session(outbox: Outbox) {
    for number in 0..6 {
        outbox.append(message(&format!("a{number}"), 1)).await;
    }
    let gate = outbox.broker.hold_next_publish();
    let relay = outbox.relay(options());
    let mut health = relay.health().broker;
    let stop = CancellationToken::new();
    outbox.broker.lose_session_after_the_gate();
    let running = tokio::spawn(relay.run(stop.clone()));
    gate.reached().await;
    eventually("the second session has sent the others", async || outbox.counts().await.sent == 4)
        .await;
    assert_eq!(outbox.broker.sessions_opened(), 2);
    health.mark_unchanged();

    gate.open();
    eventually("all are sent", async || outbox.counts().await.sent == 6).await;
    assert!(!health.has_changed().expect("the relay lives"), "the broker was up all the time");
    assert_eq!(outbox.broker.sessions_opened(), 2);
    stop.cancel();
    running.await.expect("no panic");
}
