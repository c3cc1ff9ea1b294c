//! A message that kills every process that handles it is parked, and its neighbours are not charged.
//! The processes are real ones: this test binary, started again.

use std::process::Stdio;
use std::time::Duration;

use inbox::{Consumer, ConsumerOptions};
use test_kit::{connect, eventually};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;
use transport::{Outcome, Queue, Topology, TransportOptions};

use crate::actor::{Actor, Then};
use crate::bench::{Inbox, QUEUE, about, message, quick};

on_both_databases!(a_message_that_kills_its_process_is_parked_and_its_neighbours_are_not_charged);

async fn a_message_that_kills_its_process_is_parked_and_its_neighbours_are_not_charged(
    inbox: Inbox,
) {
    let broker = inbox.storage.create_broker().await.expect("a broker");
    let culprit = message("culprit", Then::Abort);
    let mut messages: Vec<_> = (1..=4).map(|version| about("before", version, Then::Ack)).collect();
    messages.push(culprit.clone());
    messages.extend((1..=4).map(|version| about("after", version, Then::Ack)));
    let transport = transport::connect(&broker, topology(), options()).expect("a valid URL");
    let publisher = transport.publisher().await.expect("a session");
    let published = publisher.publish(&messages).await;
    assert_eq!(published.outcomes, vec![Outcome::Confirmed; messages.len()]);

    let mut deaths = 0;
    loop {
        let mut process = consumer_process(&inbox.url, &broker);
        let is_done =
            async || inbox.parked().await.len() + inbox.effects().await.len() == messages.len();
        let died = tokio::select! {
            status = process.wait() => status.is_ok(),
            () = eventually("it dies or is done", is_done) => false,
        };
        for (message_id, starts) in inbox.starts().await {
            assert_eq!(Some(&message_id), culprit.properties.message_id.as_ref(), "{starts}");
        }
        if !died {
            process.kill().await.expect("killed");
            break;
        }
        deaths += 1;
        assert!(deaths <= 4, "it kills and kills");
    }

    // The first delivery is not counted beforehand; three more starts are all that it gets.
    assert_eq!(deaths, 4);
    let effects = inbox.effects().await;
    assert_eq!(effects.len(), 8, "{effects:?}");
    let parked = inbox.parked().await;
    assert_eq!((parked.len(), parked[0].reason.as_str()), (1, "handler_failed"));
    let detail =
        "the process ended while handling it: 3 starts of its handler did not come to an end";
    assert_eq!(parked[0].detail, detail);
    assert_eq!(parked[0].body, culprit.body);
    assert_eq!(inbox.starts().await, []);
}

const DATABASE: &str = "TEST_INBOX_DATABASE";
const BROKER: &str = "TEST_INBOX_BROKER";

fn consumer_process(database: &str, broker: &str) -> Child {
    Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "crash_loop::the_process", "--ignored", "--nocapture"])
        .envs([(DATABASE, database), (BROKER, broker)])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("started")
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the process that the tests above start"]
async fn the_process() {
    let setting = |name| std::env::var(name).expect(name);
    let transport =
        transport::connect(&setting(BROKER), topology(), options()).expect("a valid URL");
    let db = connect(&setting(DATABASE)).expect("a pool");
    let options = ConsumerOptions { gap_wait: Some(Duration::from_secs(3600)), ..quick() };
    let consumer = Consumer::new(db, transport, Actor::default(), options);
    consumer.run(CancellationToken::new()).await;
}

fn topology() -> Topology {
    Topology {
        exchange: "shop.events".to_owned(),
        dead_letter_exchange: "shop.dead-letters".to_owned(),
        queues: vec![Queue::new(QUEUE, "act.*")],
    }
}

fn options() -> TransportOptions {
    TransportOptions { visibility_timeout: Duration::from_millis(500), ..Default::default() }
}
