//! Database or broker are away: nothing is settled, nothing is parked, and it goes on by itself.

use inbox::ConsumerOptions;
use test_kit::{Backing, eventually};
use transport::{LinkState, Message};

use crate::actor::Then;
use crate::bench::{Inbox, QUEUE, Running, message, patient, quick};

on_both_databases!(
    an_outage_of_the_database_costs_a_message_nothing_and_keeps_the_order,
    an_outage_of_the_database_holds_garbage_back_too,
    an_outage_of_the_broker_is_survived,
    after_a_lost_session_messages_are_taken_one_by_one_until_one_has_come_through,
);

/// PostgreSQL only: the statement makes the server report what it reports when transactions collide.
#[tokio::test(flavor = "multi_thread")]
async fn a_serialisation_failure_repeats_the_whole_transaction_and_costs_no_try() {
    let inbox = Inbox::new(Backing::Servers).await;
    let sent = inbox.send(message("it", Then::CollideTwice));
    let running = inbox.run_consumer(ConsumerOptions { max_attempts: 1, ..quick() });
    eventually("it is settled", async || inbox.broker.settled().len() == 1).await;
    running.stop().await;

    assert_eq!(inbox.broker.acked(), [sent]);
    assert_eq!(inbox.actor.calls_of("it"), 3);
    assert_eq!(inbox.effects().await, ["it"]);
    assert_eq!(inbox.parked().await, []);
}

/// A session may have died of a message that can't be parsed. Taken alone, it charges nobody else.
async fn after_a_lost_session_messages_are_taken_one_by_one_until_one_has_come_through(
    inbox: Inbox,
) {
    let options = ConsumerOptions { prefetch: 50, ..patient() };
    let running = inbox.run_consumer(options);
    let sessions = || inbox.broker.prefetches(QUEUE);
    eventually("the first session", async || sessions() == [50]).await;
    for expected in [&[50, 1][..], &[50, 1, 1]] {
        inbox.broker.end_session(QUEUE);
        eventually("the next session", async || sessions() == expected).await;
    }
    // One that fails proves the session just as well, and must not hold back its neighbour.
    inbox.send(message("waiting", Then::Retry));
    let neighbour = inbox.send(message("neighbour", Then::Ack));
    eventually("the neighbour is settled", async || inbox.broker.acked() == [neighbour]).await;
    assert_eq!(sessions(), [50, 1, 1, 50]);
    running.stop().await;
}

fn is_down(state: &LinkState) -> bool {
    matches!(state, LinkState::Down(_))
}

async fn an_outage_of_the_database_costs_a_message_nothing_and_keeps_the_order(inbox: Inbox) {
    // One try is all that a message has: an outage must not take it.
    let consumer = inbox.consumer(ConsumerOptions { max_attempts: 1, ..quick() });
    let mut database = consumer.health().database;
    inbox.execute("ALTER TABLE inbox_messages RENAME TO away").await;
    let names: Vec<_> = (0..5).map(|number| format!("it-{number}")).collect();
    let sent: Vec<_> = names.iter().map(|name| inbox.send(message(name, Then::Ack))).collect();

    let running = Running::start(consumer);
    database.wait_for(is_down).await.expect("the consumer lives");
    assert!(inbox.broker.settled().is_empty());
    assert_eq!(inbox.parked().await, []);
    let sessions = inbox.broker.sessions_opened();
    assert!(sessions <= 2, "it waits in place; the second one is for dead letters");

    inbox.execute("ALTER TABLE away RENAME TO inbox_messages").await;
    eventually("all are settled", async || inbox.broker.settled().len() == sent.len()).await;
    database.wait_for(|state| *state == LinkState::Up).await.expect("the consumer lives");
    running.stop().await;

    assert_eq!(inbox.broker.acked(), sent);
    assert_eq!(inbox.actor.calls(), names);
    assert_eq!(inbox.effects().await, names);
    assert_eq!(inbox.parked().await, []);
}

async fn an_outage_of_the_database_holds_garbage_back_too(inbox: Inbox) {
    let consumer = inbox.consumer(ConsumerOptions { max_attempts: 1, ..quick() });
    let mut database = consumer.health().database;
    inbox.execute("ALTER TABLE parked_messages RENAME TO away").await;
    let garbage = inbox.send(Message { body: b"garbage".to_vec(), ..Message::default() });

    let running = Running::start(consumer);
    database.wait_for(is_down).await.expect("the consumer lives");
    assert!(inbox.broker.settled().is_empty());

    inbox.execute("ALTER TABLE away RENAME TO parked_messages").await;
    eventually("it is settled", async || inbox.broker.settled().len() == 1).await;
    running.stop().await;
    assert_eq!(inbox.broker.acked(), [garbage]);
    assert_eq!(inbox.parked().await.len(), 1);
}

async fn an_outage_of_the_broker_is_survived(inbox: Inbox) {
    inbox.broker.set_away(true);
    let consumer = inbox.consumer(quick());
    let mut broker = consumer.health().broker;
    let running = Running::start(consumer);
    broker.wait_for(is_down).await.expect("the consumer lives");
    eventually("it tries again and again", async || inbox.broker.sessions_refused() >= 6).await;

    let sent = inbox.send(message("it", Then::Ack));
    inbox.broker.set_away(false);
    broker.wait_for(|state| *state == LinkState::Up).await.expect("the consumer lives");
    eventually("it is settled", async || inbox.broker.settled().len() == 1).await;
    running.stop().await;
    assert_eq!(inbox.broker.acked(), [sent]);
    assert_eq!(inbox.effects().await, ["it"]);
}
