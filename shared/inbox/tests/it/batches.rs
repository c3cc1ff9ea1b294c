//! Many messages in one transaction: as one where all goes well, each for itself where not.

use inbox::ConsumerTotals;
use test_kit::{Backing, eventually};

use crate::actor::Then;
use crate::bench::{Inbox, QUEUE, Running, message, quick};

on_both_databases!(
    messages_that_are_there_share_a_transaction_and_none_is_acked_before_its_commit,
    one_that_fails_costs_its_neighbours_nothing,
    one_with_the_id_of_another_costs_its_neighbours_nothing,
    duplicates_among_new_messages_have_no_second_effect,
    copies_that_are_there_together_have_one_effect,
);

/// Runs a consumer until it has all of `messages` in hand beside `gate`, then lets it go on, so that
/// they are there together; and until all are settled.
async fn run_together(inbox: &Inbox, messages: Vec<transport::Message>) -> ConsumerTotals {
    let count = messages.len();
    inbox.send(message("gate", Then::Wait));
    let consumer = inbox.consumer(quick());
    let counts = consumer.counts();
    let running = Running::start(consumer);
    inbox.actor.waits().await;
    for message in messages {
        inbox.send(message);
    }
    eventually("all are in hand", async || inbox.broker.ready(QUEUE) == 0).await;
    inbox.actor.go_on();
    eventually("all are settled", async || inbox.broker.settled().len() == count + 1).await;
    running.stop().await;
    inbox.broker.acked();
    counts.totals()
}

async fn messages_that_are_there_share_a_transaction_and_none_is_acked_before_its_commit(
    inbox: Inbox,
) {
    let names: Vec<_> = (0..20).map(|number| format!("it-{number:02}")).collect();
    let totals =
        run_together(&inbox, names.iter().map(|name| message(name, Then::Ack)).collect()).await;

    assert_eq!(inbox.actor.told_of_commits(), 2, "the gate's and theirs");
    assert_eq!(inbox.effects().await[1..], names);
    assert_eq!(inbox.actor.calls()[1..], names, "in the order of the queue");
    for settled in &inbox.broker.settled()[1..] {
        assert_eq!(settled.durable, 21, "all were durable before the first ack: {settled:?}");
    }
    assert_eq!(totals, ConsumerTotals { processed: 21, ..ConsumerTotals::default() });
}

async fn one_that_fails_costs_its_neighbours_nothing(inbox: Inbox) {
    let fails = [Then::Retry, Then::Park, Then::Panic, Then::Nonsense];
    let mut messages = vec![];
    for then in fails {
        messages.push(message(&format!("before-{then:?}"), Then::Ack));
        messages.push(message(&format!("{then:?}"), then));
        messages.push(message(&format!("after-{then:?}"), Then::Ack));
    }
    let totals = run_together(&inbox, messages).await;

    let mut expected: Vec<_> = fails
        .iter()
        .flat_map(|then| [format!("before-{then:?}"), format!("after-{then:?}")])
        .chain(["gate".to_owned()])
        .collect();
    expected.sort();
    assert_eq!(inbox.effects().await, expected, "each once");
    assert_eq!(inbox.parked().await.len(), 4);
    assert_eq!((totals.processed, totals.parked, totals.retried), (9, 4, 6), "{totals:?}");
}

async fn one_with_the_id_of_another_costs_its_neighbours_nothing(inbox: Inbox) {
    let first = message("first", Then::Ack);
    let other =
        transport::Message { properties: first.properties.clone(), ..message("other", Then::Ack) };
    inbox.send(first);
    let running = inbox.run_consumer(quick());
    eventually("the first is settled", async || inbox.broker.settled().len() == 1).await;
    running.stop().await;

    let running = inbox.run_consumer(quick());
    inbox.send(message("gate", Then::Wait));
    inbox.actor.waits().await;
    for message in [message("a", Then::Ack), other, message("b", Then::Ack)] {
        inbox.send(message);
    }
    eventually("all are in hand", async || inbox.broker.ready(QUEUE) == 0).await;
    inbox.actor.go_on();
    eventually("all are settled", async || inbox.broker.settled().len() == 5).await;
    running.stop().await;
    assert_eq!(inbox.effects().await, ["a", "b", "first", "gate"]);
    assert_eq!(inbox.parked().await[0].reason, "duplicate_id_other_body");
}

async fn duplicates_among_new_messages_have_no_second_effect(inbox: Inbox) {
    let known = message("known", Then::Ack);
    inbox.send(known.clone());
    let running = inbox.run_consumer(quick());
    eventually("it is settled", async || inbox.broker.settled().len() == 1).await;
    running.stop().await;

    let running = inbox.run_consumer(quick());
    inbox.send(message("gate", Then::Wait));
    inbox.actor.waits().await;
    for message in [message("a", Then::Ack), known, message("b", Then::Ack)] {
        inbox.send(message);
    }
    eventually("all are in hand", async || inbox.broker.ready(QUEUE) == 0).await;
    inbox.actor.go_on();
    eventually("all are settled", async || inbox.broker.settled().len() == 5).await;
    running.stop().await;
    assert_eq!(inbox.effects().await, ["a", "b", "gate", "known"]);
    assert_eq!(inbox.actor.told_of_commits(), 3, "one for a and b");
}

async fn copies_that_are_there_together_have_one_effect(inbox: Inbox) {
    let copy = message("it", Then::Ack);
    let totals = run_together(&inbox, vec![copy; 10]).await;
    assert_eq!(inbox.effects().await, ["gate", "it"]);
    assert_eq!((totals.processed, totals.duplicates), (2, 9));
}

/// PostgreSQL only: the statement makes the server report what it reports when transactions collide.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_collides_is_repeated_as_a_whole_and_costs_no_try() {
    let inbox = Inbox::new(Backing::Servers).await;
    let messages =
        vec![message("a", Then::Ack), message("it", Then::CollideTwice), message("b", Then::Ack)];
    let totals = run_together(&inbox, messages).await;
    assert_eq!(inbox.effects().await, ["a", "b", "gate", "it"]);
    assert_eq!(inbox.actor.calls_of("a"), 3, "rolled back with it");
    assert_eq!(inbox.actor.told_of_commits(), 2);
    assert_eq!(totals, ConsumerTotals { processed: 4, ..ConsumerTotals::default() });
}
