//! Deliveries: how many are outstanding, to whom they go, and that none slips away.

use std::collections::BTreeSet;
use std::future::ready;

use futures_util::FutureExt;
use transport::{Consumer, Settlement};

use crate::broker::{
    Broker, assert_drained, messages, number, numbers, publish, receive, receive_many, settle,
    settle_all,
};

on_every_transport!(
    prefetch_bounds_what_is_outstanding,
    a_settled_delivery_makes_room_for_one_more,
    two_consumers_of_a_queue_share_its_messages,
    every_message_goes_to_one_of_the_consumers_and_once,
    a_receive_that_is_given_up_loses_no_message,
    a_message_published_while_a_consumer_waits_is_delivered,
);

async fn prefetch_bounds_what_is_outstanding(broker: Broker) {
    publish(&*broker.publisher().await, &messages(0..10)).await;
    let mut greedy = broker.consumer(3).await;
    let held = receive_many(&mut greedy, 3).await;

    // All that it does not hold is there for another.
    let others = receive_many(&mut broker.consumer(100).await, 7).await;
    assert_eq!(numbers(&others), (3..10).collect::<Vec<_>>());
    assert!(greedy.next().now_or_never().is_none());
    assert_eq!(numbers(&held), [0, 1, 2]);
}

async fn a_settled_delivery_makes_room_for_one_more(broker: Broker) {
    publish(&*broker.publisher().await, &messages(0..50)).await;
    let mut consumer = broker.consumer(2).await;
    let mut held = receive(&mut consumer).await;
    for expected in 1..50 {
        let next = receive(&mut consumer).await;
        assert_eq!(number(&next), expected);
        settle(std::mem::replace(&mut held, next), Settlement::Ack).await;
    }
    settle(held, Settlement::Ack).await;
    assert_drained(&broker, &mut consumer).await;
}

async fn two_consumers_of_a_queue_share_its_messages(broker: Broker) {
    let (mut one, mut other) = (broker.consumer(5).await, broker.consumer(5).await);
    publish(&*broker.publisher().await, &messages(0..10)).await;

    // Neither can hold more than five, so ten in all means five each.
    let mut held = receive_many(&mut one, 5).await;
    held.extend(receive_many(&mut other, 5).await);
    let distinct: BTreeSet<_> = numbers(&held).into_iter().collect();
    assert_eq!(distinct, (0..10).collect());
}

async fn every_message_goes_to_one_of_the_consumers_and_once(broker: Broker) {
    let (mut one, mut other) = (broker.consumer(10).await, broker.consumer(10).await);
    let publisher = broker.publisher().await;
    let batch = messages(0..200);
    let ((), received) = tokio::join!(publish(&*publisher, &batch), async {
        let mut received = Vec::new();
        while received.len() < 200 {
            let delivery = tokio::select! {
                delivery = receive(&mut one) => delivery,
                delivery = receive(&mut other) => delivery,
            };
            received.push(number(&delivery));
            settle(delivery, Settlement::Ack).await;
        }
        received
    });

    let distinct: BTreeSet<_> = received.into_iter().collect();
    assert_eq!(distinct, (0..200).collect());
    drop(other);
    assert_drained(&broker, &mut one).await;
}

async fn a_receive_that_is_given_up_loses_no_message(broker: Broker) {
    let mut consumer = broker.consumer(20).await;
    let publisher = broker.publisher().await;
    let batch = messages(0..300);
    let (given_up, ()) = tokio::join!(receive_impatiently(&mut consumer, 300), async {
        for batch in batch.chunks(10) {
            publish(&*publisher, batch).await;
        }
    });
    assert!(given_up > 0, "nothing was given up");
    assert_drained(&broker, &mut consumer).await;
}

/// Receives the messages 0 to `count` in order, and gives up whenever none is there at once.
async fn receive_impatiently(consumer: &mut Box<dyn Consumer>, count: usize) -> usize {
    let mut given_up = 0;
    let mut expected = 0;
    while expected < count {
        tokio::select! {
            biased;
            delivery = receive(consumer) => {
                assert_eq!(number(&delivery), expected);
                assert!(!delivery.redelivered);
                settle(delivery, Settlement::Ack).await;
                expected += 1;
            }
            () = ready(()) => {
                given_up += 1;
                // A thousand times a second is impatient enough, and leaves the broker a core.
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
        }
    }
    given_up
}

async fn a_message_published_while_a_consumer_waits_is_delivered(broker: Broker) {
    let mut consumer = broker.consumer(10).await;
    let publisher = broker.publisher().await;
    for round in 0..5 {
        let batch = messages(round..=round);
        let (delivery, ()) = tokio::join!(receive(&mut consumer), publish(&*publisher, &batch));
        assert_eq!(number(&delivery), round);
        settle_all([delivery], Settlement::Ack).await;
    }
}
