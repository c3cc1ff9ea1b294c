//! What people do to dead messages, and what it leaves behind.

use std::sync::Arc;
use std::time::Duration;

use chrono::{TimeDelta, Utc};
use database::{Dialect, begin_write};
use futures_util::future::join_all;
use outbox::dead_letters::{
    ActionError, Backlog, By, Details, Entry, Filter, Horizon, MessageKey, Retried, Run, Selection,
    State, Stats, backlog, discard, list, retry, retry_many, show, stats,
};
use outbox::{NewMessage, Pass, RelayOptions};
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};
use test_kit::eventually;
use tokio::sync::Barrier;
use transport::{MessageId, Outcome};

use crate::bench::{HOUR, Outbox, message, message_with, quick};
use crate::broker::aggregate;

on_both_databases!(
    a_retried_message_is_published_under_its_old_id_and_version_with_all_its_tries_again,
    a_retry_wakes_a_relay_that_would_sleep_for_an_hour,
    a_discarded_message_is_never_sent_and_what_waited_behind_it_flows,
    only_a_dead_message_can_be_retried_or_discarded,
    an_action_that_is_refused_changes_and_records_nothing,
    of_many_who_act_on_one_message_at_once_exactly_one_does,
    an_action_waits_for_another_one_and_sees_what_it_did,
    every_action_records_who_when_why_and_what_the_row_said_before,
    a_message_older_than_the_inbox_retention_is_retried_only_when_forced,
    retrying_many_takes_what_its_selection_says_and_a_dry_run_only_counts,
    a_message_that_dies_again_at_once_does_not_keep_a_retry_of_many_running,
    lists_are_newest_first_and_their_pages_join_without_gap_or_double,
    the_payload_is_shown_byte_for_byte,
    the_figures_tell_what_waits_and_what_is_blocked,
    the_backlog_is_what_waits_what_is_dead_and_the_age_of_the_first,
    a_row_that_somebody_else_wrote_badly_can_be_seen_retried_and_discarded,
);

const DAY: Duration = Duration::from_secs(86_400);
const IN_TIME: Horizon = Horizon::Within(DAY);

fn somebody() -> By {
    By { actor: "somebody".to_owned(), reason: None }
}

fn of_type(kind: &str, id: &str) -> NewMessage {
    NewMessage::new("order", id, 1, kind, &Value::Null).expect("JSON")
}

impl Outbox {
    /// Appends version 1 of an aggregate and lets it die.
    async fn dead(&self, id: &str) -> MessageId {
        let message_id = self.append(message(id, 1)).await;
        self.let_die().await;
        message_id
    }

    /// Lets everything die that can be published now. Afterwards the broker takes everything.
    async fn let_die(&self) {
        self.broker.answer(|message| Outcome::Refused(format!("no {}", aggregate(message))));
        let mut relay = self.relay(RelayOptions { max_retries: 1, ..quick() });
        relay.run_once().await.expect("a pass");
        self.broker.answer(|_| Outcome::Confirmed);
    }

    async fn show(&self, id: MessageId) -> Details {
        show(&self.db, id).await.expect("an answer").expect("the message")
    }

    async fn is(&self, id: MessageId, state: State) -> bool {
        self.show(id).await.entry.state == state
    }

    async fn list(&self, filter: Filter, limit: u64) -> Vec<Entry> {
        list(&self.db, &filter, limit).await.expect("a list")
    }

    async fn age(&self, id: &str, by: Duration) {
        let sql = match self.db.get_database_backend() {
            sea_orm::DbBackend::Sqlite => format!(
                "UPDATE outbox_messages SET occurred_on =
                   strftime('%Y-%m-%dT%H:%M:%f+00:00', occurred_on, '-{} seconds')
                 WHERE aggregate_id = '{id}'",
                by.as_secs()
            ),
            _ => format!(
                "UPDATE outbox_messages SET occurred_on = occurred_on - interval '{} seconds'
                 WHERE aggregate_id = '{id}'",
                by.as_secs()
            ),
        };
        self.execute(&sql).await;
    }
}

async fn a_retried_message_is_published_under_its_old_id_and_version_with_all_its_tries_again(
    outbox: Outbox,
) {
    let id = outbox.dead("a").await;
    assert!(outbox.show(id).await.entry.dead_at.is_some());
    retry(&outbox.db, id, &somebody(), IN_TIME).await.expect("retried");

    let entry = outbox.show(id).await.entry;
    assert_eq!((entry.state, entry.retry_count, entry.last_error), (State::Pending, 0, None));
    assert_eq!((entry.dead_at, entry.next_attempt_at), (None, None), "due now");

    // All of its tries: it fails twice more and is still alive.
    outbox.broker.answer(|_| Outcome::Nacked);
    let mut relay = outbox.relay(RelayOptions { max_retries: 3, ..quick() });
    for _ in 0..2 {
        relay.run_once().await.expect("a pass");
    }
    assert!(outbox.is(id, State::Pending).await);
    outbox.broker.answer(|_| Outcome::Confirmed);
    relay.run_once().await.expect("a pass");
    assert!(outbox.is(id, State::Sent).await);

    let published = outbox.broker.published();
    assert_eq!(published.len(), 4);
    assert!(published.iter().all(|message| *message == published[0]), "id and version included");
    assert_eq!(published[0].properties.message_id, Some(id.to_string()));
}

async fn a_retry_wakes_a_relay_that_would_sleep_for_an_hour(outbox: Outbox) {
    let ids = [outbox.dead("a").await, outbox.dead("b").await, outbox.dead("c").await];
    let running = outbox.run_relay(RelayOptions { poll_interval: HOUR, ..quick() });
    outbox.append(message("awake", 1)).await;
    // The first look is behind it when this one is sent.
    let sender = outbox::hint_sender(&outbox.db, running.shutdown.clone());
    sender.send();
    eventually("it relays", async || outbox.counts().await.sent == 1).await;

    for (sent, id) in (2..).zip(ids) {
        retry(&outbox.db, id, &somebody(), IN_TIME).await.expect("retried");
        eventually("it is published", async || outbox.counts().await.sent == sent).await;
    }
    running.stop().await;
}

async fn a_discarded_message_is_never_sent_and_what_waited_behind_it_flows(outbox: Outbox) {
    let id = outbox.dead("a").await;
    outbox.append_versions("a", [2, 3]).await;
    let mut relay = outbox.relay(quick());
    assert_eq!(relay.run_once().await.expect("a pass"), Pass::Idle, "they wait behind it");

    discard(&outbox.db, id, "somebody", "made by mistake").await.expect("discarded");
    while relay.run_once().await.expect("a pass") != Pass::Idle {}

    assert_eq!(outbox.broker.versions()["a"], [1, 2, 3], "version 1 was the try that it died of");
    let details = outbox.show(id).await;
    assert_eq!(details.entry.state, State::Discarded, "it stays visible");
    assert_eq!(details.entry.last_error.as_deref(), Some("no a"));
    assert!(details.entry.dead_at.is_some());
    let listed =
        outbox.list(Filter { state: Some(State::Discarded), ..Filter::default() }, 9).await;
    assert_eq!(listed, [details.entry]);
}

async fn only_a_dead_message_can_be_retried_or_discarded(outbox: Outbox) {
    let sent = outbox.append(message("sent", 1)).await;
    outbox.relay(quick()).run_once().await.expect("a pass");
    let discarded = outbox.dead("discarded").await;
    discard(&outbox.db, discarded, "somebody", "why").await.expect("discarded");
    let pending = outbox.append(message("pending", 1)).await;

    for (id, expected) in
        [(sent, State::Sent), (discarded, State::Discarded), (pending, State::Pending)]
    {
        let retried = retry(&outbox.db, id, &somebody(), Horizon::Forced).await;
        let gone = discard(&outbox.db, id, "somebody", "why").await;
        for refused in [retried, gone] {
            match refused.expect_err("refused") {
                ActionError::NotDead { state, .. } => assert_eq!(state, expected),
                other => panic!("{other}"),
            }
        }
        assert!(outbox.is(id, expected).await);
    }
    let unknown = MessageId::generate();
    let refused = retry(&outbox.db, unknown, &somebody(), IN_TIME).await;
    assert!(matches!(refused, Err(ActionError::NotFound(id)) if id == unknown));
    assert!(show(&outbox.db, unknown).await.expect("an answer").is_none());
}

async fn an_action_that_is_refused_changes_and_records_nothing(outbox: Outbox) {
    let id = outbox.append(message("pending", 1)).await;
    let before = outbox.show(id).await;
    retry(&outbox.db, id, &somebody(), Horizon::Forced).await.expect_err("refused");
    discard(&outbox.db, id, "somebody", "why").await.expect_err("refused");
    assert_eq!(outbox.show(id).await, before);
    assert_eq!(before.actions, []);
}

async fn of_many_who_act_on_one_message_at_once_exactly_one_does(outbox: Outbox) {
    const PEOPLE: usize = 8;
    let id = outbox.dead("a").await;
    let barrier = Arc::new(Barrier::new(PEOPLE));
    let people = (0..PEOPLE).map(|number| {
        let (db, barrier) = (outbox.another_pool(), barrier.clone());
        tokio::spawn(async move {
            barrier.wait().await;
            match number % 2 {
                0 => retry(&db, id, &somebody(), IN_TIME).await,
                _ => discard(&db, id, "somebody", "why").await,
            }
        })
    });
    let results: Vec<_> =
        join_all(people).await.into_iter().map(|result| result.expect("no panic")).collect();

    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
    for refused in results.into_iter().filter_map(Result::err) {
        assert!(matches!(refused, ActionError::NotDead { .. }), "{refused}");
    }
    assert_eq!(outbox.show(id).await.actions.len(), 1);
}

/// Somebody's discard is not committed yet: no answer to a retry could be right before it is.
async fn an_action_waits_for_another_one_and_sees_what_it_did(outbox: Outbox) {
    let id = outbox.dead("a").await;
    let tx = begin_write(&outbox.db).await.expect("a transaction");
    let change = "UPDATE outbox_messages SET status = 'Discarded'";
    tx.execute_unprepared(change).await.expect("discarded");
    let db = outbox.another_pool();
    let retrying = tokio::spawn(async move { retry(&db, id, &somebody(), IN_TIME).await });
    if Dialect::of(&outbox.db) == Dialect::Postgres {
        let waiting = "SELECT 1 AS found FROM pg_stat_activity
                       WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let watcher = outbox.another_pool();
        eventually("it waits", async || {
            let statement = Dialect::Postgres.statement(waiting, []);
            watcher.query_one_raw(statement).await.expect("an answer").is_some()
        })
        .await;
    }
    tx.commit().await.expect("committed");

    let refused = retrying.await.expect("no panic").expect_err("refused");
    assert!(matches!(refused, ActionError::NotDead { state: State::Discarded, .. }), "{refused}");
    let details = outbox.show(id).await;
    assert_eq!((details.entry.state, details.actions), (State::Discarded, vec![]));
}

async fn every_action_records_who_when_why_and_what_the_row_said_before(outbox: Outbox) {
    let id = outbox.dead("a").await;
    let by =
        By { actor: "ann".to_owned(), reason: Some("the broker's limit was raised".to_owned()) };
    retry(&outbox.db, id, &by, IN_TIME).await.expect("retried");
    outbox.broker.answer(|_| Outcome::Nacked);
    let mut relay = outbox.relay(RelayOptions { max_retries: 1, ..quick() });
    relay.run_once().await.expect("a pass");
    let many = retry_many(&outbox.db, &Selection::default(), &somebody(), IN_TIME, Run::Real).await;
    assert_eq!(many.expect("retried").count, 1);
    relay.run_once().await.expect("a pass");
    discard(&outbox.db, id, "bob", "hopeless").await.expect("discarded");

    let actions = outbox.show(id).await.actions;
    let nack = Some("the broker refused it (nack)");
    let expected = [
        ("ann", "retry", Some("the broker's limit was raised"), Some("no a")),
        ("somebody", "retry", None, nack),
        ("bob", "discard", Some("hopeless"), nack),
    ];
    let recorded: Vec<_> = actions
        .iter()
        .map(|action| {
            let (reason, error) = (action.reason.as_deref(), action.last_error.as_deref());
            (action.actor.as_str(), action.action.as_str(), reason, error)
        })
        .collect();
    assert_eq!(recorded, expected);
    assert!(actions.is_sorted_by_key(|action| action.at));
    assert!((Utc::now() - actions[0].at).abs() < TimeDelta::hours(1));
}

async fn a_message_older_than_the_inbox_retention_is_retried_only_when_forced(outbox: Outbox) {
    let id = outbox.dead("old").await;
    outbox.dead("young").await;
    outbox.age("old", DAY + HOUR).await;

    let refused = retry(&outbox.db, id, &somebody(), IN_TIME).await.expect_err("refused");
    assert!(matches!(refused, ActionError::TooOld { .. }), "{refused}");
    assert!(refused.to_string().contains("written 1 d 1 h ago"), "{refused}");
    let many = async |horizon, run| {
        retry_many(&outbox.db, &Selection::default(), &somebody(), horizon, run).await
    };
    let counted = Retried { count: 1, too_old: 1 };
    assert_eq!(many(IN_TIME, Run::Dry).await, Ok(counted));
    assert_eq!(many(IN_TIME, Run::Real).await, Ok(counted));
    assert!(outbox.is(id, State::Dead).await);
    assert_eq!(outbox.show(id).await.actions, []);

    assert_eq!(many(Horizon::Forced, Run::Dry).await, Ok(Retried { count: 1, too_old: 0 }));
    retry(&outbox.db, id, &somebody(), Horizon::Within(DAY + 2 * HOUR))
        .await
        .expect("young enough");
    outbox.let_die().await;
    retry(&outbox.db, id, &somebody(), Horizon::Forced).await.expect("forced");
    assert!(outbox.is(id, State::Pending).await);
}

async fn retrying_many_takes_what_its_selection_says_and_a_dry_run_only_counts(outbox: Outbox) {
    for (kind, id) in [("Kept", "kept"), ("Placed", "old"), ("Placed", "new")] {
        outbox.append(of_type(kind, id)).await;
    }
    outbox.let_die().await;
    let sent = outbox.append(of_type("Placed", "sent")).await;
    outbox.relay(quick()).run_once().await.expect("a pass");
    let pending = outbox.append(of_type("Placed", "pending")).await;
    outbox.age("old", HOUR * 2).await;
    let status = async |id: &str| outbox.row(id, 1).await.status;

    let before = Utc::now() - TimeDelta::hours(1);
    let old = Selection { kind: Some("Placed".to_owned()), before: Some(before) };
    let many = async |selection: &Selection, run| {
        retry_many(&outbox.db, selection, &somebody(), IN_TIME, run).await.expect("done").count
    };
    assert_eq!(many(&old, Run::Dry).await, 1);
    assert_eq!(status("old").await, "Dead", "a dry run does nothing");
    assert_eq!(many(&old, Run::Real).await, 1);
    assert_eq!((status("old").await.as_str(), status("new").await.as_str()), ("Pending", "Dead"));
    assert_eq!(many(&old, Run::Real).await, 0);

    let placed = Selection { before: None, ..old };
    assert_eq!(many(&placed, Run::Real).await, 1);
    assert_eq!((status("new").await.as_str(), status("kept").await.as_str()), ("Pending", "Dead"));
    assert!(outbox.is(sent, State::Sent).await && outbox.is(pending, State::Pending).await);
    assert_eq!(many(&Selection::default(), Run::Real).await, 1);
    assert_eq!(outbox.counts().await.dead, 0);
}

async fn a_message_that_dies_again_at_once_does_not_keep_a_retry_of_many_running(outbox: Outbox) {
    for number in 0..3 {
        outbox.append(message(&format!("a{number}"), 1)).await;
    }
    outbox.let_die().await;
    // A relay so quick that a retried row is dead again before the next batch is looked for.
    let die_again = match outbox.db.get_database_backend() {
        sea_orm::DbBackend::Sqlite => {
            "CREATE TRIGGER hopeless AFTER UPDATE OF status ON outbox_messages
             WHEN NEW.status = 'Pending'
             BEGIN UPDATE outbox_messages SET status = 'Dead' WHERE id = NEW.id; END"
        }
        _ => {
            "CREATE FUNCTION hopeless() RETURNS trigger LANGUAGE plpgsql AS
               $$ BEGIN NEW.status := 'Dead'; RETURN NEW; END $$;
             CREATE TRIGGER hopeless BEFORE UPDATE ON outbox_messages
               FOR EACH ROW WHEN (NEW.status = 'Pending') EXECUTE FUNCTION hopeless()"
        }
    };
    outbox.execute(die_again).await;
    let many = retry_many(&outbox.db, &Selection::default(), &somebody(), IN_TIME, Run::Real).await;
    assert_eq!(many.expect("it ends").count, 3);
    assert_eq!(outbox.counts().await.dead, 3);
}

async fn lists_are_newest_first_and_their_pages_join_without_gap_or_double(outbox: Outbox) {
    let mut expected = vec![];
    for number in 0..5 {
        expected.push(outbox.append(message(&format!("a{number}"), 1)).await);
    }
    expected.reverse();
    let mut pages = vec![];
    let mut cursor = None;
    loop {
        let page = outbox.list(Filter { cursor, ..Filter::default() }, 2).await;
        let Some(last) = page.last() else { break };
        cursor = Some(last.cursor.clone());
        pages.extend(page.iter().map(|entry| entry.message_id.clone()));
    }
    assert_eq!(pages, expected);

    outbox.let_die().await;
    let later = outbox.append(of_type("Other", "b")).await;
    let of_state = |state| Filter { state: Some(state), ..Filter::default() };
    assert_eq!(outbox.list(of_state(State::Dead), 9).await.len(), 5);
    assert_eq!(outbox.list(of_state(State::Pending), 9).await[0].message_id, later);
    assert_eq!(outbox.list(of_state(State::Sent), 9).await, []);
    let other = Filter { kind: Some("Other".to_owned()), ..Filter::default() };
    assert_eq!(outbox.list(other, 9).await.len(), 1);
}

async fn the_payload_is_shown_byte_for_byte(outbox: Outbox) {
    let payload = json!({"text": "ä\u{0}\"", "number": 12_345_678_901_234_567_890_u64});
    let written = message_with("a", 1, &payload).header("traceparent", "00-1");
    let id = outbox.append(written.schema_version(2)).await;
    let details = outbox.show(id).await;
    assert_eq!(details.payload, payload);
    assert_eq!(details.payload_text, payload.to_string());
    assert_eq!(details.headers, json!({"traceparent": "00-1"}));
    assert_eq!((details.schema_version, details.claim), (2, None));

    outbox
        .execute("UPDATE outbox_messages SET claimed_by = 'r', claimed_until = occurred_on")
        .await;
    let claim = outbox.show(id).await.claim.expect("a claim");
    assert_eq!(
        (claim.by.as_str(), Some(claim.until)),
        ("r", outbox.show(id).await.entry.occurred_on)
    );
}

async fn the_figures_tell_what_waits_and_what_is_blocked(outbox: Outbox) {
    assert_eq!(stats(&outbox.db).await, Ok(Stats::default()));
    outbox.append(message("sent", 1)).await;
    outbox.relay(quick()).run_once().await.expect("a pass");
    for id in ["a", "b", "c"] {
        outbox.dead(id).await;
    }
    let discarded = outbox.dead("discarded").await;
    discard(&outbox.db, discarded, "somebody", "why").await.expect("discarded");
    outbox.append_versions("a", [2, 3]).await;
    outbox.append_versions("b", [2]).await;
    outbox.append_versions("discarded", [2]).await;
    outbox.age("b", HOUR).await;
    outbox
        .execute("UPDATE outbox_messages SET retry_count = 1 WHERE aggregate_id = 'discarded'")
        .await;
    let gate = outbox.broker.hold_next_publish();
    let mut relay = outbox.relay(quick());
    let passing = tokio::spawn(async move { relay.run_once().await });
    gate.reached().await;

    let figures = stats(&outbox.db).await.expect("figures");
    let age = figures.oldest_pending_age_ms.expect("an age");
    assert!((3_600_000..7_200_000).contains(&age), "{age}");
    let expected = Stats {
        pending: 4,
        claimed: 1,
        failing: 1,
        sent: 1,
        sent_is_estimate: false,
        dead: 3,
        discarded: 1,
        oldest_pending_age_ms: Some(age),
        blocked_aggregates: 2,
        blocked_messages: 3,
    };
    assert_eq!(figures, expected);
    gate.open();
    passing.await.expect("no panic").expect("a pass");
}

async fn the_backlog_is_what_waits_what_is_dead_and_the_age_of_the_first(outbox: Outbox) {
    assert_eq!(backlog(&outbox.db).await, Ok(Backlog::default()));
    outbox.append(message("sent", 1)).await;
    outbox.relay(quick()).run_once().await.expect("a pass");
    outbox.dead("dead").await;
    discard(&outbox.db, outbox.dead("gone").await, "somebody", "why").await.expect("discarded");
    outbox.append_versions("a", [1]).await;
    outbox.append_versions("b", [1]).await;
    for old in ["sent", "dead", "gone"] {
        outbox.age(old, 2 * HOUR).await;
    }
    outbox.age("a", HOUR).await;

    let found = backlog(&outbox.db).await.expect("a backlog");
    let age = found.oldest_pending_age_ms.expect("an age");
    assert!((3_600_000..7_200_000).contains(&age), "{age}");
    assert_eq!(found, Backlog { pending: 2, dead: 1, oldest_pending_age_ms: Some(age) });
}

async fn a_row_that_somebody_else_wrote_badly_can_be_seen_retried_and_discarded(outbox: Outbox) {
    let time = match Dialect::of(&outbox.db) {
        Dialect::Postgres => "-infinity",
        Dialect::Sqlite => "2026-01-01T00:00:00+00:00",
    };
    outbox
        .execute(&format!(
            "INSERT INTO outbox_messages (message_id, aggregate_type, aggregate_id,
               aggregate_version, type, payload, occurred_on)
             VALUES ('no-uuid', 'order', 'a', 1, 'OrderPlaced', '{{}}', '{time}')"
        ))
        .await;
    stats(&outbox.db).await.expect("figures, while it is pending");
    backlog(&outbox.db).await.expect("a backlog");
    outbox.let_die().await;
    let key: MessageKey = "no-uuid".parse().expect("a key");

    let dead = Filter { state: Some(State::Dead), ..Filter::default() };
    let listed = outbox.list(dead, 9).await;
    assert_eq!(listed[0].message_id, key);
    show(&outbox.db, key.clone()).await.expect("an answer").expect("the message");
    let retried = retry(&outbox.db, key.clone(), &somebody(), Horizon::Forced).await;
    retried.expect("retried");
    outbox.let_die().await;
    discard(&outbox.db, key.clone(), "somebody", "made by hand").await.expect("discarded");

    let shown = show(&outbox.db, key).await.expect("an answer").expect("the message");
    assert_eq!((shown.entry.state, shown.actions.len()), (State::Discarded, 2));
}
