//! Each message gets its own answer, and what is confirmed is there.

use serde_json::json;
use transport::{Message, Outcome, Published, Settlement, TransportOptions};

use crate::broker::{
    Broker, assert_drained, assert_intact, message, messages, numbers, options, orders, publish,
    receive, receive_many, settle_all,
};

on_every_transport!(
    what_is_confirmed_arrives_in_order_and_intact,
    batches_arrive_in_the_order_in_which_they_were_confirmed,
    each_outcome_lands_on_its_own_message,
    batches_at_the_same_time_on_one_session_keep_their_outcomes_apart,
    messages_that_share_an_id_and_a_key_are_each_kept,
    a_strange_message_harms_none_of_its_neighbours,
    a_batch_of_nothing_is_answered_with_nothing,
    the_check_of_a_session_that_works_is_ok,
);

/// Messages in a mixed batch: enough that the first answers come while the last are sent, which is
/// when answers get mixed up.
const MANY: usize = 1000;

/// The limit for the bodies of a mixed batch.
const SMALL: usize = 1000;

async fn what_is_confirmed_arrives_in_order_and_intact(broker: Broker) {
    let with_body = |number, body| Message { body, ..message(number) };
    let sent = [
        message(1),
        with_body(2, Vec::new()),
        with_body(3, (0..1024 * 1024).map(|n| (n % 251) as u8).collect()),
        with_body(4, vec![0xff, 0xfe, 0x00, 0xc3, 0x28]),
        // Nothing but what routes it.
        Message { routing_key: "order.cancelled".to_owned(), ..Message::default() },
        message(6),
    ];
    publish(&*broker.publisher().await, &sent).await;

    let mut consumer = broker.consumer(10).await;
    for sent in &sent {
        let delivery = receive(&mut consumer).await;
        assert_intact(&delivery.message, sent);
        assert_eq!(delivery.message.routing_key, sent.routing_key);
        assert!(!delivery.redelivered, "{:?}", sent.properties);
    }
}

async fn batches_arrive_in_the_order_in_which_they_were_confirmed(broker: Broker) {
    let publisher = broker.publisher().await;
    for first in [0, 300, 600] {
        publish(&*publisher, &messages(first..first + 300)).await;
    }

    let received = receive_many(&mut broker.consumer(900).await, 900).await;
    assert_eq!(numbers(&received), (0..900).collect::<Vec<_>>());
}

async fn each_outcome_lands_on_its_own_message(broker: Broker) {
    let transport = broker.transport_with(orders(), small_bodies());
    let publisher = transport.publisher().await.expect("a publishing session");
    let published = publisher.publish(&mixed(0..MANY)).await;
    assert_mixed(&published, 0..MANY);

    let confirmed: Vec<_> = (0..MANY).filter(|number| is_routable(*number)).collect();
    let mut consumer = broker.consumer(MANY as u16).await;
    let received = receive_many(&mut consumer, confirmed.len()).await;
    assert_eq!(numbers(&received), confirmed);
    settle_all(received, Settlement::Ack).await;
    assert_drained(&broker, &mut consumer).await;
}

async fn batches_at_the_same_time_on_one_session_keep_their_outcomes_apart(broker: Broker) {
    let transport = broker.transport_with(orders(), small_bodies());
    let publisher = transport.publisher().await.expect("a publishing session");
    let (one, other) = (mixed(0..MANY), mixed(MANY..2 * MANY));
    let (one, other) = tokio::join!(publisher.publish(&one), publisher.publish(&other));
    assert_mixed(&one, 0..MANY);
    assert_mixed(&other, MANY..2 * MANY);
}

/// Two events of one order may carry what a careless writer gave them.
async fn messages_that_share_an_id_and_a_key_are_each_kept(broker: Broker) {
    publish(&*broker.publisher().await, &vec![message(7); 20]).await;
    let mut consumer = broker.consumer(20).await;
    let received = receive_many(&mut consumer, 20).await;
    assert_eq!(numbers(&received), [7; 20]);
    settle_all(received, Settlement::Ack).await;
    assert_drained(&broker, &mut consumer).await;
}

async fn a_strange_message_harms_none_of_its_neighbours(broker: Broker) {
    let header = |name: String, value| Message { headers: [(name, value)].into(), ..message(1) };
    let key = |routing_key: String| Message { routing_key, ..message(1) };
    let mut long_id = message(1);
    long_id.properties.message_id = Some("x".repeat(256));
    let mut strange_id = message(1);
    strange_id.properties.message_id = Some("a\0b".to_owned());
    let strange = [
        key("order.\0".to_owned()),
        key(format!("order.{}", "x".repeat(250))),
        long_id,
        strange_id,
        header("x".repeat(256), json!(1)),
        header("deep".to_owned(), (0..100).fold(json!(1), |inner, _| json!([inner]))),
        header("nul".to_owned(), json!("a\0b")),
        header("long".to_owned(), json!("x".repeat(1024 * 1024))),
    ];
    let publisher = broker.publisher().await;
    let mut consumer = broker.consumer(10).await;
    for strange in strange {
        let batch = [message(0), strange, message(2)];
        let published = publisher.publish(&batch).await;
        assert!(published.lost.is_none(), "{published:?}");
        assert_eq!(published.outcomes[0], Outcome::Confirmed, "{published:?}");
        assert_eq!(published.outcomes[2], Outcome::Confirmed, "{published:?}");
        // Whether it can be sent differs from broker to broker. Its answer must be true.
        for (sent, outcome) in batch.iter().zip(&published.outcomes) {
            match outcome {
                Outcome::Confirmed => {
                    let delivery = receive(&mut consumer).await;
                    assert_intact(&delivery.message, sent);
                    settle_all([delivery], Settlement::Ack).await;
                }
                Outcome::Refused(_) => (),
                other => panic!("{other:?}"),
            }
        }
    }
}

async fn a_batch_of_nothing_is_answered_with_nothing(broker: Broker) {
    let published = broker.publisher().await.publish(&[]).await;
    assert!(published.outcomes.is_empty() && published.lost.is_none());
}

async fn the_check_of_a_session_that_works_is_ok(broker: Broker) {
    let publisher = broker.publisher().await;
    publisher.check().await.expect("a new session works");
    publish(&*publisher, &messages(0..10)).await;
    publisher.check().await.expect("it still works");
}

fn small_bodies() -> TransportOptions {
    TransportOptions { max_body_bytes: SMALL, ..options() }
}

/// A batch in which neighbours have different fates, in a pattern that repeats after seven.
fn mixed(numbers: std::ops::Range<usize>) -> Vec<Message> {
    let mixed = |number| match number {
        unroutable if is_unroutable(unroutable) => {
            Message { routing_key: "stock.counted".to_owned(), ..message(number) }
        }
        routable if is_routable(routable) => message(number),
        _ => Message { body: vec![0; SMALL + 1], ..message(number) },
    };
    numbers.map(mixed).collect()
}

fn is_unroutable(number: usize) -> bool {
    [1, 2, 4].contains(&(number % 7))
}

fn is_routable(number: usize) -> bool {
    [0, 3, 6].contains(&(number % 7))
}

fn assert_mixed(published: &Published, numbers: std::ops::Range<usize>) {
    assert!(published.lost.is_none(), "{published:?}");
    assert_eq!(published.outcomes.len(), numbers.len());
    for (number, outcome) in numbers.zip(&published.outcomes) {
        let expected = match outcome {
            Outcome::Confirmed => is_routable(number),
            Outcome::Unroutable(_) => is_unroutable(number),
            Outcome::Refused(_) => !is_routable(number) && !is_unroutable(number),
            Outcome::Nacked | Outcome::Unknown => false,
        };
        assert!(expected, "message {number}: {outcome:?}");
    }
}
