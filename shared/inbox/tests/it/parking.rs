//! What can't be read is written down, once, intact, with the reason; and the queue flows on.

use serde_json::{Value, json};
use test_kit::eventually;
use transport::{Message, Properties};

use crate::actor::{KIND, Then};
use crate::bench::{Inbox, QUEUE, message, quick};

on_both_databases!(
    garbage_is_parked_once_with_its_reason_and_its_bytes_and_the_queue_flows_on,
    the_same_id_with_another_body_is_parked_and_the_first_effect_stays,
    an_unreadable_message_with_a_known_id_does_not_count_as_received,
    garbage_that_comes_again_after_it_was_parked_is_not_parked_twice,
    garbage_that_comes_again_with_the_brokers_own_counters_is_not_parked_twice,
    garbage_that_comes_again_without_having_been_parked_is_parked,
    equal_garbage_that_was_sent_twice_is_parked_twice,
    text_with_nul_can_be_parked,
    a_message_whose_decoder_panics_is_parked_and_the_queue_flows_on,
);

fn garbage() -> Vec<(&'static str, Message)> {
    let good = || message("never", Then::Ack);
    let with_id = |id: Option<&str>| {
        let mut message = good();
        message.properties.message_id = id.map(str::to_owned);
        message
    };
    let with_kind = |kind: Option<&str>| {
        let mut message = good();
        message.properties.kind = kind.map(str::to_owned);
        message
    };
    let with_version = |version: Value| {
        let mut message = good();
        message.headers.insert("schema-version".to_owned(), version);
        message
    };
    let with_body = |body: &[u8]| Message { body: body.to_vec(), ..good() };
    vec![
        ("malformed_message_id", Message::default()),
        ("malformed_message_id", with_id(None)),
        ("malformed_message_id", with_id(Some(""))),
        ("malformed_message_id", with_id(Some("not a uuid"))),
        ("malformed_message_id", with_id(Some("00000000-0000-0000-0000-000000000000"))),
        ("malformed_message_id", with_id(Some("0192b3c400007000800000000000000a"))),
        ("unknown_type", with_kind(None)),
        ("unknown_type", with_kind(Some("Unheard"))),
        ("unknown_type", with_kind(Some("acted"))),
        ("unsupported_version", with_version(json!(2))),
        ("unsupported_version", with_version(json!("2"))),
        ("unsupported_version", with_version(json!([1]))),
        ("malformed_body", with_body(b"")),
        ("malformed_body", with_body(b"{")),
        ("malformed_body", with_body(b"\x00\xff\xfe\x80")),
        ("malformed_body", with_body(br#"{"name":"never"}"#)),
        ("malformed_body", with_body(br#"{"name":"\ud800","then":"Ack"}"#)),
        ("malformed_body", with_body(&vec![b'['; 100_000])),
    ]
}

async fn garbage_is_parked_once_with_its_reason_and_its_bytes_and_the_queue_flows_on(inbox: Inbox) {
    let garbage = garbage();
    for (number, (_, message)) in garbage.iter().enumerate() {
        inbox.send(message.clone());
        inbox.send(crate::bench::message(&format!("neighbour-{number:02}"), Then::Ack));
    }
    let running = inbox.run_consumer(quick());
    let all = 2 * garbage.len();
    eventually("all are settled", async || inbox.broker.settled().len() == all).await;
    running.stop().await;

    assert_eq!(inbox.broker.acked(), (0..all).collect::<Vec<_>>());
    assert_eq!(inbox.effects().await.len(), garbage.len(), "the neighbours");
    let parked = inbox.parked().await;
    assert_eq!(parked.len(), garbage.len());
    for (parked, (reason, message)) in parked.iter().zip(garbage) {
        assert_eq!(parked.reason, reason, "{message:?}");
        assert!(!parked.detail.is_empty());
        assert_eq!(parked.body, message.body);
        assert_eq!(parked.message_id, message.properties.message_id);
        assert_eq!(parked.kind, message.properties.kind);
        let properties: Value = serde_json::from_str(&parked.properties).expect("JSON");
        assert_eq!(properties["routingKey"], json!(message.routing_key));
        assert_eq!(properties["headers"], json!(message.headers));
        let kept = Properties::clone(&message.properties);
        assert_eq!(properties["properties"], serde_json::to_value(kept).expect("JSON"));
    }
}

async fn the_same_id_with_another_body_is_parked_and_the_first_effect_stays(inbox: Inbox) {
    let first = message("first", Then::Ack);
    let mut other = message("other", Then::Ack);
    other.properties.message_id.clone_from(&first.properties.message_id);
    // One id has many spellings in upper and lower case, and is still one.
    let mut again = first.clone();
    again.properties.message_id =
        first.properties.message_id.as_ref().map(|id| id.to_ascii_uppercase());
    for message in [&first, &other, &again] {
        inbox.send(message.clone());
    }
    let running = inbox.run_consumer(quick());
    eventually("all are settled", async || inbox.broker.settled().len() == 3).await;
    running.stop().await;

    inbox.broker.acked();
    assert_eq!(inbox.effects().await, ["first"]);
    let parked = inbox.parked().await;
    assert_eq!(parked.len(), 1);
    assert_eq!(parked[0].reason, "duplicate_id_other_body");
    assert_eq!(parked[0].body, other.body);
}

async fn an_unreadable_message_with_a_known_id_does_not_count_as_received(inbox: Inbox) {
    let good = message("good", Then::Ack);
    let unreadable = Message { body: b"{".to_vec(), ..good.clone() };
    inbox.send(unreadable);
    inbox.send(good);
    let running = inbox.run_consumer(quick());
    eventually("both are settled", async || inbox.broker.settled().len() == 2).await;
    running.stop().await;
    assert_eq!(inbox.effects().await, ["good"]);
    assert_eq!(inbox.parked().await.len(), 1);
}

async fn garbage_that_comes_again_after_it_was_parked_is_not_parked_twice(inbox: Inbox) {
    // Parked, but its acknowledgement is lost on the way: as by a crash right before it.
    inbox.broker.lose_next_settlement();
    let sent = inbox.send(Message { body: b"garbage".to_vec(), ..Message::default() });
    let running = inbox.run_consumer(quick());
    eventually("it is settled", async || inbox.broker.settled().len() == 1).await;
    running.stop().await;

    assert_eq!(inbox.broker.acked(), [sent]);
    assert_eq!(inbox.parked().await.len(), 1);
}

/// RabbitMQ adds these headers to what it delivers again.
async fn garbage_that_comes_again_with_the_brokers_own_counters_is_not_parked_twice(inbox: Inbox) {
    let garbage = message("garbage", Then::Park);
    let mut again = garbage.clone();
    again.headers.insert("x-delivery-count".to_owned(), json!(1));
    again.headers.insert("x-acquired-count".to_owned(), json!(1));
    inbox.send(garbage);
    inbox.broker.redeliver(QUEUE, again);
    let running = inbox.run_consumer(quick());
    eventually("both are settled", async || inbox.broker.settled().len() == 2).await;
    running.stop().await;
    assert_eq!(inbox.parked().await.len(), 1);
}

async fn garbage_that_comes_again_without_having_been_parked_is_parked(inbox: Inbox) {
    inbox.broker.redeliver(QUEUE, Message { body: b"garbage".to_vec(), ..Message::default() });
    let running = inbox.run_consumer(quick());
    eventually("it is settled", async || inbox.broker.settled().len() == 1).await;
    running.stop().await;
    assert_eq!(inbox.parked().await.len(), 1);
}

async fn equal_garbage_that_was_sent_twice_is_parked_twice(inbox: Inbox) {
    for _ in 0..2 {
        inbox.send(Message { body: b"garbage".to_vec(), ..Message::default() });
    }
    let running = inbox.run_consumer(quick());
    eventually("both are settled", async || inbox.broker.settled().len() == 2).await;
    running.stop().await;
    assert_eq!(inbox.parked().await.len(), 2);
}

async fn a_message_whose_decoder_panics_is_parked_and_the_queue_flows_on(inbox: Inbox) {
    let poison = inbox.send(message("poison", Then::PanicWhenRead));
    let neighbour = inbox.send(message("neighbour", Then::Ack));
    let running = inbox.run_consumer(quick());
    eventually("both are settled", async || inbox.broker.settled().len() == 2).await;
    running.stop().await;
    assert_eq!(inbox.broker.acked(), [poison, neighbour]);
    assert_eq!(inbox.effects().await, ["neighbour"]);
    let parked = inbox.parked().await;
    assert_eq!(parked.len(), 1);
    assert_eq!(
        (parked[0].reason.as_str(), parked[0].detail.as_str()),
        ("malformed_body", "the decoder panicked")
    );
}

/// PostgreSQL's text has no NUL, and a stranger may send one anywhere.
async fn text_with_nul_can_be_parked(inbox: Inbox) {
    let nul = || Some("a\0b".to_owned());
    let mut everywhere = message("x", Then::Ack);
    everywhere.routing_key = "a\0b".to_owned();
    everywhere.properties = Properties {
        message_id: nul(),
        kind: nul(),
        content_type: nul(),
        content_encoding: nul(),
        timestamp: Some(u64::MAX),
        app_id: nul(),
    };
    everywhere.headers.insert("a\0b".to_owned(), json!("a\0b"));
    everywhere.body = b"a\0b".to_vec();
    let mut in_its_type = message("x", Then::Ack);
    in_its_type.properties.kind = nul();
    let mut in_its_body = message("x", Then::Ack);
    in_its_body.body = br#"{"name":"a\u0000b","then":"Ack\u0000"}"#.to_vec();
    // The body is fine; it is the effect that PostgreSQL refuses, for good.
    let in_its_effect = message("a\0b", Then::Park);
    for message in [&everywhere, &in_its_type, &in_its_body, &in_its_effect] {
        inbox.send(message.clone());
    }
    inbox.send(message("neighbour", Then::Ack));
    let running = inbox.run_consumer(quick());
    eventually("all are settled", async || inbox.broker.settled().len() == 5).await;
    running.stop().await;

    inbox.broker.acked();
    let mut reasons: Vec<_> =
        inbox.parked().await.into_iter().map(|parked| parked.reason).collect();
    reasons.sort_unstable();
    assert_eq!(
        reasons,
        ["handler_failed", "malformed_body", "malformed_message_id", "unknown_type"]
    );
    let parked = inbox.parked().await;
    assert_eq!(parked[0].body, b"a\0b");
    assert_eq!(parked[0].message_id.as_deref(), Some("a\u{fffd}b"), "shown, not hidden");
    let properties: Value = serde_json::from_str(&parked[0].properties).expect("JSON");
    assert_eq!(properties["properties"]["message_id"], json!("a\0b"), "here it is intact");
    assert_eq!(properties["properties"]["type"], json!("a\0b"));
    assert_ne!(parked[1].kind.as_deref(), Some(KIND));
    assert_eq!(inbox.effects().await, ["neighbour"]);
}
