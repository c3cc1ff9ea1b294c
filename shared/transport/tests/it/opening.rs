//! Programs start in any order, many at once, and again and again.

use futures_util::future::join_all;
use transport::{Consumer, Publisher, Queue, Settlement};

use crate::broker::{
    Broker, DEAD, KEY, QUEUE, assert_drained, message, messages, numbers, open, orders, publish,
    queues, receive, receive_many, settle, until_depth,
};

on_every_transport!(
    a_consumer_that_comes_first_gets_what_is_published_later,
    a_message_waits_for_a_consumer_that_comes_later,
    opening_sessions_again_leaves_queues_and_messages_as_they_are,
    eight_processes_that_open_an_empty_broker_at_once_all_succeed,
    one_transport_opens_many_sessions_at_once,
    a_queue_that_is_added_later_gets_what_is_published_from_then_on,
    depths_count_what_waits_in_each_queue,
    looking_at_the_depths_of_an_empty_broker_is_no_error,
);

async fn a_consumer_that_comes_first_gets_what_is_published_later(broker: Broker) {
    let mut consumer = broker.consumer(1).await;
    publish(&*broker.publisher().await, &[message(1)]).await;
    assert_eq!(numbers(&[receive(&mut consumer).await]), [1]);
}

async fn a_message_waits_for_a_consumer_that_comes_later(broker: Broker) {
    let publisher = broker.publisher().await;
    publish(&*publisher, &[message(1)]).await;
    drop(publisher);
    assert_eq!(numbers(&[receive(&mut broker.consumer(1).await).await]), [1]);
}

async fn opening_sessions_again_leaves_queues_and_messages_as_they_are(broker: Broker) {
    for number in 0..3 {
        publish(&*broker.publisher().await, &[message(number)]).await;
        drop(broker.consumer(1).await);
        drop(broker.consumer_of(DEAD, 1).await);
    }
    let mut consumer = broker.consumer(10).await;
    let received = receive_many(&mut consumer, 3).await;
    assert_eq!(numbers(&received), [0, 1, 2]);
    for delivery in received {
        settle(delivery, Settlement::Ack).await;
    }
    assert_drained(&broker, &mut consumer).await;
}

async fn eight_processes_that_open_an_empty_broker_at_once_all_succeed(broker: Broker) {
    let processes: Vec<_> = (0..8).map(|_| broker.transport(orders())).collect();
    let (producers, receivers) = processes.split_at(4);
    let (publishers, consumers) = tokio::join!(
        join_all(producers.iter().map(|producer| open(|| producer.publisher()))),
        join_all(receivers.iter().map(|receiver| open(|| receiver.consumer(QUEUE, 1)))),
    );
    assert_each_gets_one(publishers, consumers).await;
}

async fn one_transport_opens_many_sessions_at_once(broker: Broker) {
    let transport = broker.transport(orders());
    let (publishers, consumers) = tokio::join!(
        join_all((0..4).map(|_| open(|| transport.publisher()))),
        join_all((0..4).map(|_| open(|| transport.consumer(QUEUE, 1)))),
    );
    assert_each_gets_one(publishers, consumers).await;
}

/// Each session works: every publisher gets a message through, and each consumer, which can hold
/// but one, gets one of them.
async fn assert_each_gets_one(
    publishers: Vec<Box<dyn Publisher>>,
    consumers: Vec<Box<dyn Consumer>>,
) {
    assert_eq!(publishers.len(), consumers.len());
    for (number, publisher) in publishers.iter().enumerate() {
        publish(&**publisher, &[message(number)]).await;
    }
    let received = consumers.into_iter().map(|mut consumer| async move {
        let delivery = receive(&mut consumer).await;
        (consumer, delivery)
    });
    let (_open, received): (Vec<_>, Vec<_>) = join_all(received).await.into_iter().unzip();
    let mut received = numbers(&received);
    received.sort_unstable();
    assert_eq!(received, (0..publishers.len()).collect::<Vec<_>>());
}

async fn a_queue_that_is_added_later_gets_what_is_published_from_then_on(broker: Broker) {
    let publisher = broker.publisher().await;
    publish(&*publisher, &[message(1)]).await;
    let later = queues([Queue::new("audit.everything", "#")]);
    let consumer = broker.transport(later).consumer("audit.everything", 1).await;
    let mut consumer = consumer.expect("a consuming session");

    // The session is older than the binding.
    publish(&*publisher, &[message(2)]).await;
    assert_eq!(numbers(&[receive(&mut consumer).await]), [2]);
}

async fn depths_count_what_waits_in_each_queue(broker: Broker) {
    let topology = queues([
        Queue::new(QUEUE, "order.*"),
        Queue::new("other.placed", KEY),
        Queue::new("other.stock", "stock.*"),
    ]);
    let transport = broker.transport(topology);
    let publisher = transport.publisher().await.expect("a publishing session");
    publish(&*publisher, &messages(0..3)).await;
    for (queue, expected) in
        [(QUEUE, 3), (DEAD, 0), ("other.placed", 3), ("other.placed.dead", 0), ("other.stock", 0)]
    {
        until_depth(&*transport, queue, expected).await;
    }

    let mut consumer = broker.consumer(1).await;
    settle(receive(&mut consumer).await, Settlement::Ack).await;
    settle(receive(&mut consumer).await, Settlement::DeadLetter).await;
    drop(consumer);
    for (queue, expected) in [(QUEUE, 1), (DEAD, 1), ("other.placed", 3)] {
        until_depth(&*transport, queue, expected).await;
    }
}

async fn looking_at_the_depths_of_an_empty_broker_is_no_error(broker: Broker) {
    let depths = broker.transport(orders()).depths().await;
    assert_eq!(depths.expect("an empty list"), []);
}
