//! A message goes to every queue that is bound for it.

use proptest::prelude::{Strategy, prop_assert_eq, proptest};
use proptest::{collection, sample};
use transport::{Message, Queue, Settlement, topic_matches};

use crate::broker::{
    Broker, message, numbers, publish, queues, receive_many, settle_all, until_depth,
};

on_every_transport!(
    a_message_reaches_every_queue_that_is_bound_for_it_once,
    routing_follows_the_rules_of_topics,
);

async fn a_message_reaches_every_queue_that_is_bound_for_it_once(broker: Broker) {
    let overlapping = Queue {
        bindings: ["order.*", "order.placed", "#"].map(str::to_owned).into(),
        ..Queue::new("overlapping", "")
    };
    let topology =
        queues([overlapping, Queue::new("orders", "order.#"), Queue::new("stock", "stock.*")]);
    let transport = broker.transport(topology);
    let publisher = transport.publisher().await.expect("a publishing session");
    let stock = Message { routing_key: "stock.counted".to_owned(), ..message(2) };
    publish(&*publisher, &[message(1), stock, message(3)]).await;

    for (queue, expected) in
        [("overlapping", [1, 2, 3].as_slice()), ("orders", &[1, 3]), ("stock", &[2])]
    {
        let consumer = transport.consumer(queue, 10).await;
        let mut consumer = consumer.expect("a consuming session");
        let received = receive_many(&mut consumer, expected.len()).await;
        assert_eq!(numbers(&received), expected, "{queue}");
        settle_all(received, Settlement::Ack).await;
        drop(consumer);
        until_depth(&*transport, queue, 0).await;
    }
}

async fn routing_follows_the_rules_of_topics(broker: Broker) {
    let patterns = ["#", "*", "a.*", "a.#", "#.b", "*.b", "a.#.b", "#.#", "*.*", "a"];
    let keys = ["", "a", "b", "a.b", "a..b", "a.c.b", "b.a", ".", "a.", "x.y.z", "*", "#"];
    let topology = queues(patterns.map(|pattern| Queue::new(pattern, pattern)));
    let transport = broker.transport(topology);
    let publisher = transport.publisher().await.expect("a publishing session");
    let batch = keys.map(|key| Message {
        routing_key: key.to_owned(),
        // Small enough that an assertion shows it.
        body: key.as_bytes().to_vec(),
        ..Message::default()
    });
    publish(&*publisher, &batch).await;

    for pattern in patterns {
        let expected: Vec<_> = keys.into_iter().filter(|key| topic_matches(pattern, key)).collect();
        until_depth(&*transport, pattern, expected.len() as u64).await;
        let consumer = transport.consumer(pattern, 100).await;
        let mut consumer = consumer.expect("a consuming session");
        let received = receive_many(&mut consumer, expected.len()).await;
        let received: Vec<_> =
            received.iter().map(|delivery| delivery.message.routing_key.as_str()).collect();
        assert_eq!(received, expected, "{pattern}");
    }
}

proptest! {
    #[test]
    fn a_pattern_matches_the_keys_that_can_be_spelled_from_it(
        pattern in topic(&["a", "b", "*", "#"]),
        key in topic(&["a", "b", "*"]),
    ) {
        let (pattern_words, key_words) = (split(&pattern), split(&key));
        let spelled = spelled_from(&pattern_words, &key_words);
        prop_assert_eq!(topic_matches(&pattern, &key), spelled, "{} {}", pattern, key);
    }
}

fn topic(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    collection::vec(sample::select(words), 0..6).prop_map(|words| words.join("."))
}

/// The empty text has no words.
fn split(topic: &str) -> Vec<&str> {
    topic.split('.').filter(|word| !word.is_empty()).collect()
}

/// Goes through the pattern word by word and keeps all lengths of the key that it can spell so far.
fn spelled_from(pattern: &[&str], key: &[&str]) -> bool {
    let mut reached = vec![false; key.len() + 1];
    reached[0] = true;
    for word in pattern {
        let before = reached.clone();
        for end in 0..=key.len() {
            reached[end] = match *word {
                "#" => before[..=end].contains(&true),
                "*" => end > 0 && before[end - 1],
                word => end > 0 && before[end - 1] && key[end - 1] == word,
            };
        }
    }
    reached[key.len()]
}
