//! A consumer that is told to stop finishes the message in hand; the rest goes back unsettled.

use test_kit::eventually;

use crate::actor::Then;
use crate::bench::{Inbox, QUEUE, Running, message, patient, quick};

on_both_databases!(
    a_consumer_that_stops_finishes_the_message_in_hand_and_gives_the_rest_back,
    a_message_that_waits_for_its_next_try_goes_back_unsettled,
    a_consumer_stops_during_an_outage_and_settles_nothing,
);

async fn a_consumer_that_stops_finishes_the_message_in_hand_and_gives_the_rest_back(inbox: Inbox) {
    let in_hand = inbox.send(message("in-hand", Then::Wait));
    for number in 0..3 {
        inbox.send(message(&format!("rest-{number}"), Then::Ack));
    }
    let running = inbox.run_consumer(quick());
    inbox.actor.waits().await;

    running.shutdown.cancel();
    inbox.actor.go_on();
    running.ended().await;

    // Which of the others it had begun is open; but what it settled is done, and the rest is back.
    let acked = inbox.broker.acked();
    assert_eq!(acked.first(), Some(&in_hand));
    assert_eq!(inbox.effects().await.len(), acked.len());
    assert_eq!(inbox.broker.ready(QUEUE), 4 - acked.len());
}

async fn a_message_that_waits_for_its_next_try_goes_back_unsettled(inbox: Inbox) {
    inbox.send(message("waiting", Then::Retry));
    let running = inbox.run_consumer(patient());
    eventually("it has failed", async || inbox.actor.calls_of("waiting") == 1).await;
    running.stop().await;

    assert!(inbox.broker.settled().is_empty());
    assert_eq!(inbox.broker.ready(QUEUE), 1);
    assert_eq!(inbox.parked().await, []);
    assert_eq!(inbox.known().await, 0);
}

async fn a_consumer_stops_during_an_outage_and_settles_nothing(inbox: Inbox) {
    inbox.execute("ALTER TABLE inbox_messages RENAME TO away").await;
    let consumer = inbox.consumer(quick());
    let mut database = consumer.health().database;
    inbox.send(message("it", Then::Ack));
    let running = Running::start(consumer);
    let down = |state: &transport::LinkState| matches!(state, transport::LinkState::Down(_));
    database.wait_for(down).await.expect("the consumer lives");
    running.stop().await;

    assert!(inbox.broker.settled().is_empty());
    assert_eq!(inbox.broker.ready(QUEUE), 1);
    assert_eq!(inbox.parked().await, []);
}
