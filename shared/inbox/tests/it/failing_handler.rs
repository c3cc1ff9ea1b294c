//! A handler that fails: tried again, parked at last, and no burden for its neighbours.

use inbox::ConsumerOptions;
use test_kit::{Backing, eventually};

use crate::actor::Then;
use crate::bench::{CONSUMER, Inbox, message, patient, quick};

on_both_databases!(
    a_handler_that_asks_for_a_retry_is_called_again_until_it_succeeds,
    a_handler_that_always_fails_has_no_effect_and_its_message_is_parked_after_its_last_try,
    a_handler_that_always_panics_has_no_effect_and_its_message_is_parked_after_its_last_try,
    a_statement_that_always_fails_has_no_effect_and_its_message_is_parked_after_its_last_try,
    a_handler_that_gives_up_has_its_message_parked_at_once,
    neighbours_flow_while_a_failed_message_waits,
    a_panic_does_not_disturb_the_next_message,
    a_handler_that_panics_when_told_of_a_commit_loses_nothing,
);

async fn a_handler_that_asks_for_a_retry_is_called_again_until_it_succeeds(inbox: Inbox) {
    let sent = inbox.send(message("it", Then::RetryTwice));
    let running = inbox.run_consumer(quick());
    eventually("it is settled", async || inbox.broker.settled().len() == 1).await;
    running.stop().await;

    assert_eq!(inbox.broker.acked(), [sent]);
    assert_eq!(inbox.actor.calls_of("it"), 3);
    assert_eq!(inbox.effects().await, ["it"], "only the last try counts");
    assert_eq!(inbox.actor.told_of_commits(), 1);
    assert_eq!(inbox.parked().await, []);
}

async fn a_handler_that_always_fails_has_no_effect_and_its_message_is_parked_after_its_last_try(
    inbox: Inbox,
) {
    assert_parked_after(&inbox, Then::Retry, 3, |detail| detail == "not yet").await;
}

async fn a_handler_that_always_panics_has_no_effect_and_its_message_is_parked_after_its_last_try(
    inbox: Inbox,
) {
    assert_parked_after(&inbox, Then::Panic, 3, |detail| detail == "the handler panicked").await;
}

async fn a_statement_that_always_fails_has_no_effect_and_its_message_is_parked_after_its_last_try(
    inbox: Inbox,
) {
    assert_parked_after(&inbox, Then::Nonsense, 3, |detail| detail.contains("NONSENSE")).await;
}

/// PostgreSQL only: it rolls back at the failed statement, and its COMMIT reports success all the
/// same. SQLite undoes the statement alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_swallows_an_error_is_not_taken_for_a_success() {
    let inbox = Inbox::new(Backing::Servers).await;
    assert_parked_after(&inbox, Then::Swallow, 3, |detail| detail.contains("aborted")).await;
}

async fn a_handler_that_gives_up_has_its_message_parked_at_once(inbox: Inbox) {
    assert_parked_after(&inbox, Then::Park, 1, |detail| detail == "never").await;
}

async fn assert_parked_after(inbox: &Inbox, then: Then, tries: usize, detail: fn(&str) -> bool) {
    let message = message("it", then);
    let sent = inbox.send(message.clone());
    let running = inbox.run_consumer(quick());
    eventually("it is settled", async || inbox.broker.settled().len() == 1).await;
    running.stop().await;

    assert_eq!(inbox.broker.acked(), [sent]);
    assert_eq!(inbox.actor.calls_of("it"), tries);
    assert_eq!(inbox.actor.told_of_commits(), 0);
    assert!(inbox.effects().await.is_empty(), "every try was rolled back");
    assert_eq!(inbox.known().await, 0, "a parked message can still be processed later");
    let parked = inbox.parked().await;
    assert_eq!(parked.len(), 1);
    assert_eq!(parked[0].reason, "handler_failed");
    assert!(detail(&parked[0].detail), "{}", parked[0].detail);
    assert_eq!(parked[0].body, message.body);
    assert_eq!(parked[0].message_id, message.properties.message_id);
    assert_eq!(parked[0].kind, message.properties.kind);
    assert_eq!((parked[0].consumer.as_str(), parked[0].state.as_str()), (CONSUMER, "parked"));
}

async fn neighbours_flow_while_a_failed_message_waits(inbox: Inbox) {
    let waiting = inbox.send(message("waiting", Then::Retry));
    let neighbours: Vec<_> =
        (0..10).map(|number| inbox.send(message(&format!("it-{number}"), Then::Ack))).collect();
    let running = inbox.run_consumer(patient());
    eventually("the neighbours are settled", async || {
        inbox.broker.settled().len() == neighbours.len()
    })
    .await;

    assert!(inbox.actor.calls_of("waiting") <= 2, "once with its neighbours, once alone");
    assert_eq!(inbox.broker.acked(), neighbours);
    assert!(!neighbours.contains(&waiting));
    assert_eq!(inbox.parked().await, []);
    running.stop().await;
}

async fn a_panic_does_not_disturb_the_next_message(inbox: Inbox) {
    inbox.send(message("panics", Then::Panic));
    let next = inbox.send(message("next", Then::Ack));
    let running = inbox.run_consumer(patient());
    eventually("the next is settled", async || inbox.broker.settled().len() == 1).await;
    assert_eq!(inbox.broker.acked(), [next]);
    assert_eq!(inbox.effects().await, ["next"]);
    running.stop().await;
}

async fn a_handler_that_panics_when_told_of_a_commit_loses_nothing(inbox: Inbox) {
    inbox.actor.panic_when_told();
    let one = ConsumerOptions { batch: 1, ..quick() };
    let sent = ["a", "b"].map(|name| inbox.send(message(name, Then::Ack)));
    let running = inbox.run_consumer(one);
    eventually("both are settled", async || inbox.broker.settled().len() == 2).await;
    running.stop().await;
    assert_eq!(inbox.broker.acked(), sent);
    assert_eq!(inbox.effects().await, ["a", "b"]);
    assert_eq!(inbox.actor.told_of_commits(), 2);
}
