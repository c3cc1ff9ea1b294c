//! What the broker gave up on ends in the same table as what the consumer gave up on.

use serde_json::json;
use test_kit::eventually;

use crate::actor::Then;
use crate::bench::{CONSUMER, Inbox, message, quick};

on_both_databases!(
    dead_letters_are_parked_with_the_brokers_reason_and_intact,
    dead_letters_wait_while_their_table_is_away,
);

const DEAD: &str = "acts.dead";

async fn dead_letters_are_parked_with_the_brokers_reason_and_intact(inbox: Inbox) {
    let letters = [
        (Some("delivery_limit"), "delivery_limit"),
        (Some("expired"), "expired"),
        (Some("rejected"), "handler_failed"),
        (None, "delivery_limit"),
    ];
    let mut sent = vec![];
    for (death, _) in letters {
        let mut letter = message("never", Then::Ack);
        if let Some(death) = death {
            letter.headers.insert("x-first-death-reason".to_owned(), json!(death));
        }
        inbox.broker.send(DEAD, letter.clone());
        sent.push(letter);
    }
    let running = inbox.run_consumer(quick());
    eventually("all are settled", async || inbox.broker.settled().len() == 4).await;
    running.stop().await;

    inbox.broker.acked();
    assert!(inbox.actor.calls().is_empty(), "a dead letter is not processed");
    let parked = inbox.parked().await;
    assert_eq!(parked.len(), 4);
    for ((parked, letter), (_, reason)) in parked.iter().zip(&sent).zip(letters) {
        assert_eq!((parked.reason.as_str(), parked.consumer.as_str()), (reason, CONSUMER));
        assert_eq!(parked.body, letter.body);
        assert_eq!(parked.message_id, letter.properties.message_id);
    }
    for (before, settled) in inbox.broker.settled().iter().enumerate() {
        assert_eq!(settled.durable, before as i64 + 1, "no ack before it is parked");
    }
}

async fn dead_letters_wait_while_their_table_is_away(inbox: Inbox) {
    inbox.execute("ALTER TABLE parked_messages RENAME TO away").await;
    let sent = inbox.broker.send(DEAD, message("never", Then::Ack));
    let running = inbox.run_consumer(quick());
    eventually("it is in hand", async || inbox.broker.ready(DEAD) == 0).await;
    assert!(inbox.broker.settled().is_empty());

    inbox.execute("ALTER TABLE away RENAME TO parked_messages").await;
    eventually("it is settled", async || inbox.broker.settled().len() == 1).await;
    running.stop().await;
    assert_eq!(inbox.broker.acked(), [sent]);
    assert_eq!(inbox.parked().await.len(), 1);
}
