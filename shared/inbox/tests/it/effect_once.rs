//! However often a message is delivered, and to however many, it has one effect; and no
//! acknowledgement is sent before it.

use futures_util::future::join_all;
use test_kit::eventually;

use crate::actor::Then;
use crate::bench::{Inbox, QUEUE, message, patient, quick};

on_both_databases!(
    a_message_delivered_20_times_has_one_effect_and_is_acked_20_times,
    copies_delivered_to_several_consumers_at_once_have_one_effect,
    nothing_is_acked_before_it_is_committed_or_parked,
    a_lost_ack_brings_the_message_again_as_a_duplicate,
    a_session_that_ends_is_replaced_and_what_was_unsettled_comes_again,
    the_order_of_the_queue_is_the_order_of_the_effects,
);

async fn a_message_delivered_20_times_has_one_effect_and_is_acked_20_times(inbox: Inbox) {
    let copy = message("it", Then::Ack);
    let sent: Vec<_> = (0..20).map(|_| inbox.send(copy.clone())).collect();
    let running = inbox.run_consumer(quick());
    eventually("all are settled", async || inbox.broker.settled().len() == 20).await;
    running.stop().await;

    assert_eq!(inbox.broker.acked(), sent);
    assert_eq!(inbox.effects().await, ["it"]);
    assert_eq!(inbox.actor.calls(), ["it"], "a duplicate does not even reach the handler");
    assert_eq!(inbox.actor.told_of_commits(), 1);
    assert_eq!(inbox.known().await, 1);
    assert_eq!(inbox.parked().await, []);
}

async fn copies_delivered_to_several_consumers_at_once_have_one_effect(inbox: Inbox) {
    let names: Vec<_> = (0..10).map(|number| format!("it-{number}")).collect();
    for name in &names {
        let copy = message(name, Then::Ack);
        for _ in 0..10 {
            inbox.send(copy.clone());
        }
    }
    // One at a time, so that copies of one message are in several hands.
    let options = inbox::ConsumerOptions { prefetch: 1, ..quick() };
    let running: Vec<_> = (0..4).map(|_| inbox.run_consumer(options.clone())).collect();
    eventually("all are settled", async || inbox.broker.settled().len() == 100).await;
    join_all(running.into_iter().map(|consumer| consumer.stop())).await;

    assert_eq!(inbox.effects().await, names);
    assert_eq!(inbox.actor.told_of_commits(), 10);
    assert_eq!(inbox.parked().await, []);
    inbox.broker.acked();
}

async fn nothing_is_acked_before_it_is_committed_or_parked(inbox: Inbox) {
    let sent: Vec<_> = (0..10)
        .map(|number| {
            let then = if number % 2 == 0 { Then::Ack } else { Then::Park };
            inbox.send(message(&format!("it-{number}"), then))
        })
        .collect();
    let running = inbox.run_consumer(quick());
    eventually("all are settled", async || inbox.broker.settled().len() == sent.len()).await;
    running.stop().await;

    // The k-th acknowledgement saw k messages that were done for good.
    for (before, settled) in inbox.broker.settled().iter().enumerate() {
        assert_eq!(settled.durable, before as i64 + 1, "{settled:?}");
    }
    assert_eq!(inbox.broker.acked(), sent);
}

async fn a_lost_ack_brings_the_message_again_as_a_duplicate(inbox: Inbox) {
    inbox.broker.lose_next_settlement();
    let sent = inbox.send(message("it", Then::Ack));
    let running = inbox.run_consumer(quick());
    eventually("it is settled", async || inbox.broker.settled().len() == 1).await;
    running.stop().await;

    assert_eq!(inbox.broker.acked(), [sent]);
    assert_eq!(inbox.actor.calls(), ["it"]);
    assert_eq!(inbox.effects().await, ["it"]);
}

async fn a_session_that_ends_is_replaced_and_what_was_unsettled_comes_again(inbox: Inbox) {
    // It fails, waits aside, and is in nobody's hand but the session's.
    inbox.send(message("aside", Then::RetryTwice));
    let running = inbox.run_consumer(patient());
    eventually("it has failed", async || inbox.actor.calls_of("aside") == 1).await;
    inbox.broker.end_session(QUEUE);
    // Once alone, where it fails again and makes room, and once in a full session.
    eventually("it is settled", async || inbox.broker.settled().len() == 1).await;
    running.stop().await;

    assert_eq!(inbox.actor.calls_of("aside"), 3);

    assert_eq!(inbox.effects().await, ["aside"]);
    assert_eq!(inbox.broker.prefetches(QUEUE).len(), 3);
    assert_eq!(inbox.parked().await, []);
}

async fn the_order_of_the_queue_is_the_order_of_the_effects(inbox: Inbox) {
    let names: Vec<_> = (0..50).map(|number| format!("it-{number:02}")).collect();
    for name in &names {
        inbox.send(message(name, Then::Ack));
    }
    let running = inbox.run_consumer(quick());
    eventually("all are settled", async || inbox.broker.settled().len() == names.len()).await;
    running.stop().await;
    assert_eq!(inbox.actor.calls(), names);
    assert_eq!(inbox.effects().await, names);
}
