//! Starts of a handler without success are counted where a crash can't take the count along.

use inbox::ConsumerOptions;
use test_kit::eventually;

use crate::actor::Then;
use crate::bench::{Inbox, QUEUE, Running, message, patient, quick};

on_both_databases!(
    failed_tries_count_across_restarts_and_the_last_one_parks,
    a_message_that_succeeds_or_is_parked_leaves_no_count,
    a_first_delivery_that_succeeds_pays_for_no_count,
    redelivered_messages_never_share_a_transaction,
    a_redelivered_message_that_was_parked_before_is_not_started_again,
    a_known_duplicate_is_not_counted,
);

async fn failed_tries_count_across_restarts_and_the_last_one_parks(inbox: Inbox) {
    let poison = message("poison", Then::Retry);
    inbox.send(poison.clone());
    for process in 1..=2 {
        let running = inbox.run_consumer(patient());
        let id = poison.properties.message_id.clone().expect("an id");
        eventually("it has failed", async || inbox.starts().await == [(id.clone(), process)]).await;
        running.stop().await;
    }
    assert_eq!(inbox.parked().await, []);
    let running = inbox.run_consumer(patient());
    eventually("it is settled", async || inbox.broker.settled().len() == 1).await;
    running.stop().await;

    assert_eq!(inbox.actor.calls_of("poison"), 3, "as many as one process would have made");
    assert_eq!(inbox.parked().await[0].detail, "not yet");
}

async fn a_message_that_succeeds_or_is_parked_leaves_no_count(inbox: Inbox) {
    for then in [Then::RetryTwice, Then::Retry, Then::Park] {
        inbox.broker.redeliver(QUEUE, message(&format!("{then:?}"), then));
    }
    let running = inbox.run_consumer(quick());
    eventually("all are settled", async || inbox.broker.settled().len() == 3).await;
    running.stop().await;
    assert_eq!(inbox.effects().await, ["RetryTwice"]);
    assert_eq!(inbox.parked().await.len(), 2);
    assert_eq!(inbox.starts().await, []);
}

async fn a_first_delivery_that_succeeds_pays_for_no_count(inbox: Inbox) {
    inbox.execute("ALTER TABLE inbox_attempts RENAME TO away").await;
    inbox.send(message("it", Then::Ack));
    let running = inbox.run_consumer(quick());
    eventually("it is settled", async || inbox.broker.settled().len() == 1).await;
    running.stop().await;
    assert_eq!(inbox.effects().await, ["it"]);
}

async fn redelivered_messages_never_share_a_transaction(inbox: Inbox) {
    inbox.send(message("gate", Then::Wait));
    let running = inbox.run_consumer(ConsumerOptions { prefetch: 50, ..quick() });
    inbox.actor.waits().await;
    for number in 0..5 {
        inbox.broker.redeliver(QUEUE, message(&format!("it-{number}"), Then::Ack));
    }
    eventually("all are in hand", async || inbox.broker.ready(QUEUE) == 0).await;
    inbox.actor.go_on();
    eventually("all are settled", async || inbox.broker.settled().len() == 6).await;
    running.stop().await;
    assert_eq!(inbox.actor.told_of_commits(), 6);
}

async fn a_redelivered_message_that_was_parked_before_is_not_started_again(inbox: Inbox) {
    inbox.broker.lose_next_settlement();
    let sent = inbox.send(message("it", Then::Park));
    let running = inbox.run_consumer(quick());
    eventually("it is settled", async || inbox.broker.settled().len() == 1).await;
    running.stop().await;
    assert_eq!(inbox.broker.acked(), [sent]);
    assert_eq!(inbox.actor.calls(), ["it"]);
    assert_eq!(inbox.parked().await.len(), 1);
    assert_eq!(inbox.starts().await, []);
}

/// A count that other copies have left behind does not park it either.
async fn a_known_duplicate_is_not_counted(inbox: Inbox) {
    let it = message("it", Then::Ack);
    inbox.send(it.clone());
    let consumer = inbox.consumer(quick());
    let counts = consumer.counts();
    let running = Running::start(consumer);
    eventually("it is settled", async || inbox.broker.settled().len() == 1).await;

    let left_behind = "INSERT INTO inbox_attempts (consumer, message_id, starts, started_at)
         SELECT consumer, message_id, 99, processed_at FROM inbox_messages";
    inbox.execute(left_behind).await;
    inbox.broker.redeliver(QUEUE, it);
    eventually("both are settled", async || inbox.broker.settled().len() == 2).await;
    running.stop().await;
    assert_eq!(inbox.starts().await, []);
    assert_eq!(inbox.parked().await, []);
    let totals = counts.totals();
    assert_eq!((totals.processed, totals.duplicates), (1, 1));
}
