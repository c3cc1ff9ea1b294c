//! What is not settled comes again; what is acknowledged never does.

use std::time::Duration;

use transport::{Settlement, TransportOptions};

use crate::broker::{
    Broker, QUEUE, assert_drained, messages, number, numbers, options, orders, publish, receive,
    receive_many, settle, settle_all,
};

on_every_transport!(
    what_was_not_acknowledged_comes_again_when_the_session_ends,
    what_was_acknowledged_never_comes_again,
    what_was_delivered_but_not_yet_received_comes_again,
    what_a_dead_process_held_comes_again,
    a_requeued_message_comes_again_before_those_behind_it,
    a_settlement_after_the_end_of_its_session_is_an_error_and_changes_nothing,
);

async fn what_was_not_acknowledged_comes_again_when_the_session_ends(broker: Broker) {
    publish(&*broker.publisher().await, &messages(0..10)).await;
    let mut consumer = broker.consumer(10).await;
    let held = receive_many(&mut consumer, 10).await;
    assert!(held.iter().all(|delivery| !delivery.redelivered));
    drop(consumer);

    let again = receive_many(&mut broker.consumer(10).await, 10).await;
    assert_eq!(numbers(&again), (0..10).collect::<Vec<_>>());
    assert!(again.iter().all(|delivery| delivery.redelivered));
}

async fn what_was_acknowledged_never_comes_again(broker: Broker) {
    let publisher = broker.publisher().await;
    publish(&*publisher, &messages(0..100)).await;
    let mut consumer = broker.consumer(100).await;
    for delivery in receive_many(&mut consumer, 100).await {
        if number(&delivery).is_multiple_of(2) {
            settle(delivery, Settlement::Ack).await;
        }
    }
    // RabbitMQ is told, and may still forget it when the session ends. Each of these needs a place
    // that an acknowledged one has left, so it has counted them all.
    publish(&*publisher, &messages(100..150)).await;
    receive_many(&mut consumer, 50).await;
    drop(consumer);

    let mut consumer = broker.consumer(200).await;
    let again = receive_many(&mut consumer, 100).await;
    let odd = (0..50).map(|number| 2 * number + 1);
    assert_eq!(numbers(&again), odd.chain(100..150).collect::<Vec<_>>());
    assert_drained(&broker, &mut consumer).await;
}

async fn what_was_delivered_but_not_yet_received_comes_again(broker: Broker) {
    publish(&*broker.publisher().await, &messages(0..10)).await;
    let mut consumer = broker.consumer(10).await;
    let first = receive(&mut consumer).await;
    settle(first, Settlement::Ack).await;
    drop(consumer);

    let rest = receive_many(&mut broker.consumer(10).await, 9).await;
    assert_eq!(numbers(&rest), (1..10).collect::<Vec<_>>());
}

/// Nothing of it gets to say goodbye: its runtime ends in the middle of what it does.
async fn what_a_dead_process_held_comes_again(broker: Broker) {
    publish(&*broker.publisher().await, &messages(0..3)).await;
    let process = tokio::runtime::Runtime::new().expect("a runtime");
    let transport = broker.transport_with(
        orders(),
        TransportOptions { visibility_timeout: Duration::from_secs(1), ..options() },
    );
    let holder = process.spawn(async move {
        let consumer = transport.consumer(QUEUE, 10).await;
        let mut consumer = consumer.expect("a consuming session");
        let held = receive_many(&mut consumer, 3).await;
        (consumer, held)
    });
    let remains = holder.await.expect("three deliveries");
    process.shutdown_background();
    drop(remains);

    let again = receive_many(&mut broker.consumer(10).await, 3).await;
    assert_eq!(numbers(&again), [0, 1, 2]);
    assert!(again.iter().all(|delivery| delivery.redelivered));
}

async fn a_requeued_message_comes_again_before_those_behind_it(broker: Broker) {
    publish(&*broker.publisher().await, &messages(0..5)).await;
    let mut consumer = broker.consumer(1).await;
    for expected in 0..5 {
        let first = receive(&mut consumer).await;
        assert_eq!((number(&first), first.redelivered), (expected, false));
        settle(first, Settlement::Requeue).await;

        let again = receive(&mut consumer).await;
        assert_eq!((number(&again), again.redelivered), (expected, true));
        settle(again, Settlement::Ack).await;
    }
}

async fn a_settlement_after_the_end_of_its_session_is_an_error_and_changes_nothing(broker: Broker) {
    publish(&*broker.publisher().await, &messages(0..3)).await;
    let mut ended = broker.consumer(10).await;
    let stale = receive_many(&mut ended, 3).await;
    drop(ended);

    let mut heir = broker.consumer(10).await;
    let inherited = receive_many(&mut heir, 3).await;
    let settlements = [Settlement::Ack, Settlement::Requeue, Settlement::DeadLetter];
    for (stale, settlement) in stale.into_iter().zip(settlements) {
        let settled = stale.settle(settlement).await;
        settled.expect_err("somebody else has the message");
    }

    assert_eq!(numbers(&inherited), [0, 1, 2]);
    drop((heir, inherited));
    let mut consumer = broker.consumer(10).await;
    let again = receive_many(&mut consumer, 3).await;
    assert_eq!(numbers(&again), [0, 1, 2]);
    settle_all(again, Settlement::Ack).await;
    assert_drained(&broker, &mut consumer).await;
}
