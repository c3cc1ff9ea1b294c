//! One relay at a time, and the order of the whole outbox.

use std::time::Duration;

use database::Dialect;
use outbox::{Backoff, Coordination, DeadLetterPolicy, Pass, RelayOptions};
use test_kit::eventually;
use transport::{Message, Outcome};

use crate::bench::{HOUR, Outbox, message, quick};
use crate::broker::{aggregate, version};

on_both_databases!(
    a_leader_publishes_the_whole_outbox_in_the_order_of_writing,
    a_leader_publishes_nothing_after_a_message_that_was_not_confirmed,
    a_leader_waits_in_front_of_a_message_that_has_to_wait,
    a_dead_message_stops_a_leader_unless_dead_letters_are_skipped,
    a_relay_stands_by_while_another_leads,
    another_relay_takes_over_when_the_leader_dies,
    a_leader_that_stops_hands_over_at_once,
    a_new_leader_claims_nothing_while_the_old_ones_claim_lasts,
    a_leader_publishes_no_version_before_an_earlier_one_that_has_to_wait,
    a_relay_whose_lead_was_taken_away_claims_nothing,
);

fn leader(owner: &str) -> RelayOptions {
    RelayOptions { owner: owner.to_owned(), coordination: Coordination::Leader, ..quick() }
}

fn name(message: &Message) -> String {
    format!("{}{}", aggregate(message), version(message))
}

fn published(outbox: &Outbox) -> Vec<String> {
    outbox.broker.published().iter().map(name).collect()
}

/// Two aggregates in turns.
async fn append_in_turns(outbox: &Outbox) -> Vec<String> {
    let mut names = Vec::new();
    for version in 1..=3 {
        for aggregate in ["b", "a"] {
            outbox.append(message(aggregate, version)).await;
            names.push(format!("{aggregate}{version}"));
        }
    }
    names
}

async fn a_leader_publishes_the_whole_outbox_in_the_order_of_writing(outbox: Outbox) {
    let expected = append_in_turns(&outbox).await;

    let pass = outbox.relay(leader("l")).run_once().await.expect("a pass");

    assert_eq!(pass, Pass::Moved { claimed: 6, sent: 6 });
    assert_eq!(published(&outbox), expected);
    assert!(outbox.broker.batches().iter().all(|batch| batch.len() == 1), "one after another");
}

async fn a_leader_publishes_nothing_after_a_message_that_was_not_confirmed(outbox: Outbox) {
    append_in_turns(&outbox).await;
    let mut relay = outbox.relay(leader("l"));
    for answer in [Outcome::Nacked, Outcome::Unknown, Outcome::Unroutable("no queue".to_owned())] {
        let mut first = true;
        outbox.broker.answer(move |message| match name(message) == "a1" && first {
            true => {
                first = false;
                answer.clone()
            }
            false => Outcome::Confirmed,
        });
        let before = published(&outbox).len();
        relay.run_once().await.expect("a pass");
        assert_eq!(published(&outbox)[before..].last().map(String::as_str), Some("a1"));
        relay.run_once().await.expect("a pass");
        assert_eq!(published(&outbox).last().map(String::as_str), Some("a3"));

        let again = "UPDATE outbox_messages SET status = 'Pending'";
        outbox.execute(again).await;
    }
    assert!(outbox.all_rows().await.iter().all(|row| row.is_unclaimed()));
}

async fn a_leader_waits_in_front_of_a_message_that_has_to_wait(outbox: Outbox) {
    append_in_turns(&outbox).await;
    outbox.broker.answer(|_| Outcome::Nacked);
    let mut relay = outbox.relay(RelayOptions { backoff_base: HOUR, ..leader("l") });
    relay.run_once().await.expect("a pass");

    for _ in 0..5 {
        assert_eq!(relay.run_once().await.expect("a pass"), Pass::Idle);
    }
    assert_eq!(published(&outbox), ["b1"]);
    assert_eq!(outbox.row("b", 1).await.retry_count, 1);
}

async fn a_dead_message_stops_a_leader_unless_dead_letters_are_skipped(outbox: Outbox) {
    append_in_turns(&outbox).await;
    outbox.broker.answer(|message| match name(message).as_str() {
        "b1" => Outcome::Nacked,
        _ => Outcome::Confirmed,
    });
    let options = RelayOptions { backoff: Backoff::None, ..leader("l") };
    let mut relay = outbox.relay(options.clone());
    relay.run_once().await.expect("a pass");
    assert_eq!(outbox.row("b", 1).await.status, "Dead");
    assert_eq!(relay.run_once().await.expect("a pass"), Pass::Idle);
    drop(relay);

    outbox.execute("DELETE FROM outbox_leases").await;
    let skip = RelayOptions { dead_letters: DeadLetterPolicy::Skip, ..options };
    let pass = outbox.relay(skip).run_once().await.expect("a pass");
    assert_eq!(pass, Pass::Moved { claimed: 5, sent: 5 });
}

async fn a_relay_stands_by_while_another_leads(outbox: Outbox) {
    let (mut first, mut second) = (outbox.relay(leader("first")), outbox.relay(leader("second")));
    assert_eq!(first.run_once().await.expect("a pass"), Pass::Idle);
    outbox.append(message("a", 1)).await;

    for _ in 0..5 {
        assert_eq!(second.run_once().await.expect("a pass"), Pass::Standby);
    }
    assert_eq!(first.run_once().await.expect("a pass"), Pass::Moved { claimed: 1, sent: 1 });
}

async fn another_relay_takes_over_when_the_leader_dies(outbox: Outbox) {
    let short = RelayOptions { lease: Duration::from_millis(500), ..leader("dying") };
    let mut dying = outbox.relay(short);
    assert_eq!(dying.run_once().await.expect("a pass"), Pass::Idle);
    drop(dying);
    outbox.append(message("a", 1)).await;

    let _running = outbox.run_relay(leader("heir"));

    eventually("the heir has sent it", async || outbox.counts().await.sent == 1).await;
}

async fn a_leader_that_stops_hands_over_at_once(outbox: Outbox) {
    let first = outbox.run_relay(leader("first")); // its lease would last for minutes
    outbox.append(message("a", 1)).await;
    eventually("the first leads", async || outbox.counts().await.sent == 1).await;
    first.stop().await;

    outbox.append(message("a", 2)).await;
    let pass = outbox.relay(leader("second")).run_once().await.expect("a pass");
    assert_eq!(pass, Pass::Moved { claimed: 1, sent: 1 });
}

async fn a_new_leader_claims_nothing_while_the_old_ones_claim_lasts(outbox: Outbox) {
    append_in_turns(&outbox).await;
    let gate = outbox.broker.hold_next_publish();
    let mut old = outbox.relay(RelayOptions { batch_size: 1, ..leader("old") });
    let pass = tokio::spawn(async move { old.run_once().await });
    gate.reached().await;

    // As if the leadership had ended before the claim.
    outbox.execute("DELETE FROM outbox_leases").await;
    let mut new = outbox.relay(leader("new"));
    assert_eq!(new.run_once().await.expect("a pass"), Pass::Idle);

    gate.open();
    pass.await.expect("no panic").expect("a pass");
    assert_eq!(new.run_once().await.expect("a pass"), Pass::Moved { claimed: 5, sent: 5 });
}

/// It was postponed while the relays shared the work: by its due time it stands behind the next version.
async fn a_leader_publishes_no_version_before_an_earlier_one_that_has_to_wait(outbox: Outbox) {
    append_in_turns(&outbox).await;
    outbox
        .execute(
            "UPDATE outbox_messages SET next_attempt_at = '2100-01-01T00:00:00+00:00'
             WHERE aggregate_id = 'a' AND aggregate_version = 1",
        )
        .await;

    outbox.relay(RelayOptions { batch_size: 5, ..leader("l") }).run_once().await.expect("a pass");

    assert_eq!(outbox.broker.versions().get("a"), None);
    assert_eq!(outbox.broker.versions()["b"], [1, 2, 3]);
}

async fn a_relay_whose_lead_was_taken_away_claims_nothing(outbox: Outbox) {
    outbox.append(message("a", 1)).await;
    // Between taking the lead and claiming, as it happens to a relay that is frozen there.
    outbox
        .execute(match Dialect::of(&outbox.db) {
            Dialect::Postgres => {
                "CREATE FUNCTION take_away() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                   NEW.token = 'of another one'; RETURN NEW; END $$;
                 CREATE TRIGGER take_away BEFORE INSERT ON outbox_leases FOR EACH ROW
                   EXECUTE FUNCTION take_away()"
            }
            Dialect::Sqlite => {
                "CREATE TRIGGER take_away AFTER INSERT ON outbox_leases BEGIN
                   UPDATE outbox_leases SET token = 'of another one'; END"
            }
        })
        .await;

    assert_eq!(outbox.relay(leader("l")).run_once().await.expect("a pass"), Pass::Idle);
    assert!(outbox.row("a", 1).await.is_unclaimed());
}
