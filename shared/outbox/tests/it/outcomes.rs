//! What each answer of the broker does to a row.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use outbox::{Backoff, Pass, RelayError, RelayOptions};
use test_kit::eventually;
use transport::Outcome;

use crate::bench::{HOUR, Outbox, message, quick};
use crate::broker::aggregate;

on_both_databases!(
    only_what_the_broker_confirmed_is_marked_sent,
    an_unroutable_message_costs_no_try_and_is_published_once_its_queue_is_there,
    a_nacked_message_costs_a_try_and_waits_before_the_next,
    a_nacked_message_is_dead_after_its_last_try_with_the_reason,
    a_message_that_the_broker_can_not_take_is_dead_after_its_last_try_with_the_reason,
    a_message_without_an_answer_is_released_at_once_and_costs_no_try,
    after_a_lost_session_a_new_one_publishes_the_same_message_ids_again,
    a_row_that_can_not_be_made_a_message_dies_alone,
);

fn moved(claimed: usize, sent: usize) -> Pass {
    Pass::Moved { claimed, sent }
}

async fn only_what_the_broker_confirmed_is_marked_sent(outbox: Outbox) {
    for aggregate in ["confirmed-1", "unroutable", "nacked", "refused", "confirmed-2"] {
        outbox.append(message(aggregate, 1)).await;
    }
    outbox.broker.answer(|message| match aggregate(message).as_str() {
        "unroutable" => Outcome::Unroutable("no queue".to_owned()),
        "nacked" => Outcome::Nacked,
        "refused" => Outcome::Refused("too large".to_owned()),
        _ => Outcome::Confirmed,
    });

    let options = RelayOptions { backoff_base: HOUR, unroutable_interval: HOUR, ..quick() };
    let pass = outbox.relay(options).run_once().await.expect("a pass");

    assert_eq!(pass, moved(5, 2));
    for aggregate in ["confirmed-1", "confirmed-2"] {
        let row = outbox.row(aggregate, 1).await;
        assert_eq!((row.status.as_str(), row.retry_count), ("Sent", 0), "{aggregate}");
        assert!(row.sent_at.is_some() && row.last_error.is_none(), "{row:?}");
    }
    for (aggregate, tries, reason) in [
        ("unroutable", 0, "unroutable: no queue"),
        ("nacked", 1, "the broker refused it (nack)"),
        ("refused", 1, "too large"),
    ] {
        let row = outbox.row(aggregate, 1).await;
        assert_eq!((row.status.as_str(), row.retry_count), ("Pending", tries), "{aggregate}");
        assert_eq!(row.last_error.as_deref(), Some(reason));
        assert!(row.next_attempt_at.is_some() && row.sent_at.is_none(), "{row:?}");
    }
    assert!(outbox.all_rows().await.iter().all(|row| row.is_unclaimed()));
}

async fn an_unroutable_message_costs_no_try_and_is_published_once_its_queue_is_there(
    outbox: Outbox,
) {
    let bound = Arc::new(AtomicBool::new(false));
    let is_bound = bound.clone();
    outbox.broker.answer(move |_| match is_bound.load(Ordering::SeqCst) {
        true => Outcome::Confirmed,
        false => Outcome::Unroutable("no queue is bound".to_owned()),
    });
    outbox.append(message("a", 1)).await;

    // More often than any message may fail.
    let mut relay = outbox.relay(RelayOptions { max_retries: 1, ..quick() });
    for _ in 0..5 {
        assert_eq!(relay.run_once().await.expect("a pass"), moved(1, 0));
        let row = outbox.row("a", 1).await;
        assert_eq!((row.status.as_str(), row.retry_count), ("Pending", 0));
        assert_eq!(row.last_error.as_deref(), Some("unroutable: no queue is bound"));
        assert!(row.is_unclaimed());
    }
    bound.store(true, Ordering::SeqCst);
    assert_eq!(relay.run_once().await.expect("a pass"), moved(1, 1));

    let row = outbox.row("a", 1).await;
    assert_eq!((row.status.as_str(), row.retry_count, row.last_error), ("Sent", 0, None));
}

async fn a_nacked_message_costs_a_try_and_waits_before_the_next(outbox: Outbox) {
    outbox.broker.answer(|_| Outcome::Nacked);
    outbox.append(message("a", 1)).await;

    let mut relay = outbox.relay(RelayOptions { backoff_base: HOUR, ..quick() });
    assert_eq!(relay.run_once().await.expect("a pass"), moved(1, 0));
    assert_eq!(relay.run_once().await.expect("a pass"), Pass::Idle);

    let row = outbox.row("a", 1).await;
    assert_eq!((row.status.as_str(), row.retry_count), ("Pending", 1));
    assert!(row.is_unclaimed() && row.next_attempt_at.is_some());
    assert_eq!(outbox.broker.published().len(), 1);
}

async fn a_nacked_message_is_dead_after_its_last_try_with_the_reason(outbox: Outbox) {
    assert_dies_after_three_tries(&outbox, Outcome::Nacked, "the broker refused it (nack)").await;
}

async fn a_message_that_the_broker_can_not_take_is_dead_after_its_last_try_with_the_reason(
    outbox: Outbox,
) {
    let outcome = Outcome::Refused("body of 9 bytes, limit 8".to_owned());
    assert_dies_after_three_tries(&outbox, outcome, "body of 9 bytes, limit 8").await;
}

async fn assert_dies_after_three_tries(outbox: &Outbox, outcome: Outcome, reason: &str) {
    outbox.broker.answer(move |_| outcome.clone());
    outbox.append(message("a", 1)).await;

    // A very short wait, so that it is due again soon; each pass may come too early.
    let options = RelayOptions {
        backoff: Backoff::Exponential,
        backoff_base: std::time::Duration::from_millis(5),
        max_retries: 3,
        ..quick()
    };
    let running = outbox.run_relay(options);
    eventually("it is dead", async || outbox.counts().await.dead == 1).await;
    running.stop().await;

    let row = outbox.row("a", 1).await;
    assert_eq!((row.status.as_str(), row.retry_count), ("Dead", 3));
    assert_eq!(row.last_error.as_deref(), Some(reason));
    assert!(row.is_unclaimed());
    let published = outbox.broker.published();
    assert_eq!(published.len(), 3);
    assert!(published.iter().all(|message| message == &published[0]), "always the same message");
}

async fn a_message_without_an_answer_is_released_at_once_and_costs_no_try(outbox: Outbox) {
    outbox.append(message("a", 1)).await;
    outbox.append(message("b", 1)).await;
    outbox.broker.lose_session_at_next_publish();
    outbox.broker.answer(|message| match aggregate(message).as_str() {
        "a" => Outcome::Confirmed,
        _ => Outcome::Unknown,
    });

    let error = outbox.relay(quick()).run_once().await.expect_err("the session is lost");

    assert!(matches!(error, RelayError::Broker(_)), "{error}");
    let confirmed = outbox.row("a", 1).await;
    assert_eq!(confirmed.status, "Sent", "what was confirmed before the loss counts");
    let unknown = outbox.row("b", 1).await;
    assert_eq!((unknown.status.as_str(), unknown.retry_count), ("Pending", 0));
    assert!(unknown.is_unclaimed());
    assert_eq!(unknown.next_attempt_at, None, "due at once");
    assert_eq!(unknown.last_error.as_deref(), Some("no answer from the broker"));
}

async fn after_a_lost_session_a_new_one_publishes_the_same_message_ids_again(outbox: Outbox) {
    for aggregate in ["a", "b", "c"] {
        outbox.append(message(aggregate, 1)).await;
    }
    outbox.broker.lose_session_at_next_publish();
    outbox.broker.answer(|_| Outcome::Unknown);
    let mut relay = outbox.relay(RelayOptions { max_retries: 1, ..quick() });
    relay.run_once().await.expect_err("the session is lost");
    assert_eq!(outbox.broker.sessions_opened(), 1);

    outbox.broker.answer(|_| Outcome::Confirmed);
    assert_eq!(relay.run_once().await.expect("a pass"), moved(3, 3));

    assert_eq!(outbox.broker.sessions_opened(), 2);
    let batches = outbox.broker.batches();
    assert_eq!(batches.len(), 2);
    assert_eq!(batches[0], batches[1], "the very same messages, ids included");
    assert!(outbox.all_rows().await.iter().all(|row| row.retry_count == 0));
}

async fn a_row_that_can_not_be_made_a_message_dies_alone(outbox: Outbox) {
    for aggregate in ["good-1", "bad", "good-2"] {
        outbox.append(message(aggregate, 1)).await;
    }
    // Valid JSON, as the column demands, but no headers.
    outbox.execute("UPDATE outbox_messages SET headers = '[]' WHERE aggregate_id = 'bad'").await;

    let mut relay = outbox.relay(RelayOptions { max_retries: 2, ..quick() });
    assert_eq!(relay.run_once().await.expect("a pass"), moved(3, 2));
    assert_eq!(relay.run_once().await.expect("a pass"), moved(1, 0));
    assert_eq!(relay.run_once().await.expect("a pass"), Pass::Idle);

    let bad = outbox.row("bad", 1).await;
    assert_eq!((bad.status.as_str(), bad.retry_count), ("Dead", 2));
    assert!(bad.last_error.expect("a reason").starts_with("can't be made a message: "));
    assert_eq!(outbox.counts().await.sent, 2);
}
