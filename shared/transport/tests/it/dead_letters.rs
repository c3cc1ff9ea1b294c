//! What can't be processed ends in the dead-letter queue, and nowhere else.

use serde_json::Value;
use transport::{Delivery, Queue, Settlement};

use crate::broker::{
    Broker, DEAD, QUEUE, assert_drained, assert_intact, message, messages, number, numbers, orders,
    publish, queues, receive, receive_many, settle, settle_all, until_depth,
};

on_every_transport!(
    a_dead_lettered_message_moves_intact_and_says_why,
    only_the_dead_lettered_message_moves,
    a_dead_letter_can_be_given_back_many_times,
    a_message_that_is_given_back_too_often_is_dead_lettered,
    a_dead_letter_waits_until_it_is_acknowledged,
);

async fn a_dead_lettered_message_moves_intact_and_says_why(broker: Broker) {
    publish(&*broker.publisher().await, &[message(1)]).await;
    let delivery = receive(&mut broker.consumer(1).await).await;
    // Its session has ended: what it held comes again.
    drop(delivery);
    let mut consumer = broker.consumer(1).await;
    settle(receive(&mut consumer).await, Settlement::DeadLetter).await;

    let dead = receive(&mut broker.consumer_of(DEAD, 1).await).await;
    assert_intact(&dead.message, &message(1));
    assert_eq!(death_reason(&dead), "rejected");
    assert_drained(&broker, &mut consumer).await;
}

async fn only_the_dead_lettered_message_moves(broker: Broker) {
    publish(&*broker.publisher().await, &messages(0..20)).await;
    let mut consumer = broker.consumer(20).await;
    for delivery in receive_many(&mut consumer, 20).await {
        let settlement = match number(&delivery) {
            3 | 4 | 17 => Settlement::DeadLetter,
            _ => Settlement::Ack,
        };
        settle(delivery, settlement).await;
    }

    let mut dead = broker.consumer_of(DEAD, 10).await;
    assert_eq!(numbers(&receive_many(&mut dead, 3).await), [3, 4, 17]);
    assert_drained(&broker, &mut consumer).await;
    until_depth(&*broker.transport(orders()), QUEUE, 0).await;
}

async fn a_dead_letter_can_be_given_back_many_times(broker: Broker) {
    publish(&*broker.publisher().await, &[message(1)]).await;
    let mut consumer = broker.consumer(1).await;
    settle(receive(&mut consumer).await, Settlement::DeadLetter).await;

    let mut dead = broker.consumer_of(DEAD, 1).await;
    // More often than RabbitMQ allows where no limit is set.
    for _ in 0..50 {
        settle(receive(&mut dead).await, Settlement::Requeue).await;
    }
    let delivery = receive(&mut dead).await;
    assert_intact(&delivery.message, &message(1));
}

async fn a_message_that_is_given_back_too_often_is_dead_lettered(broker: Broker) {
    let limit = 2;
    let topology = queues([Queue { delivery_limit: limit, ..Queue::new(QUEUE, "order.*") }]);
    let transport = broker.transport(topology);
    let publisher = transport.publisher().await.expect("a publishing session");
    publish(&*publisher, &[message(1)]).await;

    let dead = transport.consumer(DEAD, 1).await;
    let mut dead = dead.expect("a consuming session");
    let mut deliveries = 0;
    let dead = loop {
        let consumer = transport.consumer(QUEUE, 1).await;
        let mut consumer = consumer.expect("a consuming session");
        tokio::select! {
            // Its consumer crashes each time.
            delivery = receive(&mut consumer) => {
                assert_eq!(delivery.redelivered, deliveries > 0);
                deliveries += 1;
            }
            delivery = receive(&mut dead) => break delivery,
        }
    };

    // The first one, and one for each time that it may be given back.
    assert_eq!(deliveries, 1 + limit);
    assert_intact(&dead.message, &message(1));
    assert_eq!(death_reason(&dead), "delivery_limit");
}

async fn a_dead_letter_waits_until_it_is_acknowledged(broker: Broker) {
    publish(&*broker.publisher().await, &messages(0..3)).await;
    let mut consumer = broker.consumer(3).await;
    let poison = receive_many(&mut consumer, 3).await;
    settle_all(poison, Settlement::DeadLetter).await;

    let transport = broker.transport(orders());
    until_depth(&*transport, DEAD, 3).await;
    let mut reader = broker.consumer_of(DEAD, 1).await;
    settle(receive(&mut reader).await, Settlement::Ack).await;
    let held = receive(&mut reader).await;
    drop((reader, held));

    let mut reader = broker.consumer_of(DEAD, 10).await;
    let rest = receive_many(&mut reader, 2).await;
    assert_eq!(numbers(&rest), [1, 2]);
    settle_all(rest, Settlement::Ack).await;
    until_depth(&*transport, DEAD, 0).await;
}

fn death_reason(delivery: &Delivery) -> &str {
    let reason = delivery.message.headers.get("x-first-death-reason");
    reason.and_then(Value::as_str).expect("a text")
}
