//! What people do to parked messages, and what it leaves behind.

use std::sync::Arc;
use std::time::Duration;

use chrono::{TimeDelta, Utc};
use futures_util::future::join_all;
use inbox::Reason;
use inbox::parked::{
    ActionError, By, Details, Filter, Horizon, Outcome, ParkedId, Replayer, Retried, Run, State,
    discard, list, show,
};
use serde_json::{Value, json};
use test_kit::eventually;
use tokio::sync::Barrier;
use transport::Message;

use crate::actor::{Actor, Then};
use crate::bench::{CONSUMER, Inbox, message, quick};

on_both_databases!(
    a_retried_message_has_its_effect_once_and_is_marked_with_it,
    a_message_whose_effect_is_there_already_is_marked_without_a_second_one,
    when_many_retry_one_message_at_once_its_effect_happens_once,
    of_a_retry_and_a_discard_at_once_only_one_takes_place,
    a_message_that_fails_again_stays_parked_with_the_new_reason_and_no_effect,
    a_message_that_cannot_be_read_stays_parked,
    a_retry_survives_a_handler_that_panics_around_its_transaction,
    only_a_parked_message_of_this_consumer_can_be_retried,
    a_discarded_message_stays_visible_and_is_never_retried,
    every_action_records_who_when_why_and_what_came_of_it,
    retrying_many_takes_what_its_filter_says_and_a_dry_run_only_counts,
    a_message_parked_longer_ago_than_the_inbox_remembers_is_retried_only_when_forced,
    a_message_delivered_again_after_its_retry_is_a_duplicate,
    lists_are_newest_first_and_their_pages_join_without_gap_or_double,
    a_parked_message_is_shown_with_its_intact_bytes,
);

/// Nothing here is as old as that, unless a test makes it so.
const IN_TIME: Horizon = Horizon::Within(Duration::from_secs(24 * 3600));

fn by(actor: &str) -> By {
    By { actor: actor.to_owned(), reason: None }
}

impl Inbox {
    /// Parks messages in this order, through the consumer, and returns their parkings.
    async fn park(&self, messages: impl IntoIterator<Item = Message>) -> Vec<ParkedId> {
        let running = self.run_consumer(quick());
        let mut ids = vec![];
        for message in messages {
            let before = self.broker.settled().len();
            self.send(message);
            eventually("it is parked", async || self.broker.settled().len() > before).await;
            ids.push(self.list(Filter::default(), 1).await[0]);
        }
        running.stop().await;
        ids
    }

    /// Whose handler is the test's actor, shared with every consumer.
    fn replayer(&self) -> Replayer<Arc<Actor>> {
        Replayer::new(self.another_pool(), Arc::new(self.actor.clone()), CONSUMER)
    }

    async fn show(&self, id: ParkedId) -> Details {
        show(&self.db, id).await.expect("an answer").expect("the message")
    }

    async fn state(&self, id: ParkedId) -> State {
        self.show(id).await.entry.state
    }

    async fn list(&self, filter: Filter, limit: u64) -> Vec<ParkedId> {
        let entries = list(&self.db, &filter, limit).await.expect("a list");
        entries.into_iter().map(|entry| entry.parked_id).collect()
    }
}

/// Fails three times, which is when it is parked, then succeeds.
fn healing(inbox: &Inbox, name: &str) -> Message {
    inbox.actor.fail(name, 3);
    message(name, Then::Ack)
}

async fn a_retried_message_has_its_effect_once_and_is_marked_with_it(inbox: Inbox) {
    let mut sent = healing(&inbox, "it");
    sent.headers.insert("expiration".to_owned(), json!("1"));
    let id = inbox.park([sent]).await[0];
    assert_eq!(inbox.effects().await, [""; 0]);

    let outcome = inbox.replayer().retry(id, &by("ann"), IN_TIME).await.expect("retried");
    assert_eq!(outcome, Outcome::Processed);
    assert_eq!(inbox.effects().await, ["it"]);
    assert_eq!((inbox.state(id).await, inbox.known().await), (State::Retried, 1));
    assert_eq!(inbox.actor.told_of_commits(), 1);

    let again = inbox.replayer().retry(id, &by("ann"), IN_TIME).await.expect_err("refused");
    assert!(matches!(again, ActionError::NotParked { state: State::Retried, .. }), "{again}");
    assert_eq!((inbox.effects().await.len(), inbox.actor.told_of_commits()), (1, 1));
}

async fn a_message_whose_effect_is_there_already_is_marked_without_a_second_one(inbox: Inbox) {
    let parked = healing(&inbox, "it");
    let id = inbox.park([parked.clone()]).await[0];
    let running = inbox.run_consumer(quick());
    inbox.send(parked);
    eventually("the sender has sent it again", async || inbox.known().await == 1).await;
    running.stop().await;

    let outcome = inbox.replayer().retry(id, &by("ann"), IN_TIME).await.expect("retried");
    assert_eq!(outcome, Outcome::Duplicate);
    assert_eq!(inbox.state(id).await, State::Retried);
    assert_eq!(inbox.effects().await, ["it"]);
}

async fn when_many_retry_one_message_at_once_its_effect_happens_once(inbox: Inbox) {
    const PEOPLE: usize = 8;
    let message = healing(&inbox, "it");
    let id = inbox.park([message]).await[0];
    let barrier = Arc::new(Barrier::new(PEOPLE));
    let people = (0..PEOPLE).map(|_| {
        let (replayer, barrier) = (inbox.replayer(), barrier.clone());
        tokio::spawn(async move {
            barrier.wait().await;
            replayer.retry(id, &by("ann"), IN_TIME).await
        })
    });
    let results: Vec<_> =
        join_all(people).await.into_iter().map(|result| result.expect("no panic")).collect();

    let done: Vec<_> = results.iter().filter_map(|result| result.as_ref().ok()).collect();
    assert_eq!(done, [&Outcome::Processed], "{results:?}");
    for refused in results.iter().filter_map(|result| result.as_ref().err()) {
        assert!(matches!(refused, ActionError::NotParked { .. }), "{refused}");
    }
    assert_eq!((inbox.effects().await.len(), inbox.show(id).await.actions.len()), (1, 1));
}

/// On PostgreSQL the discard is first, while the handler runs; on SQLite it waits for the one writer.
async fn of_a_retry_and_a_discard_at_once_only_one_takes_place(inbox: Inbox) {
    inbox.actor.fail("it", 3);
    let id = inbox.park([message("it", Then::Wait)]).await[0];
    let replayer = inbox.replayer();
    let retrying = tokio::spawn(async move { replayer.retry(id, &by("ann"), IN_TIME).await });
    inbox.actor.waits().await;
    let db = inbox.another_pool();
    let discarding = tokio::spawn(async move { discard(&db, id, "bob", "not wanted").await });
    let overtakes = inbox.db.get_database_backend() != sea_orm::DbBackend::Sqlite;
    if overtakes {
        eventually("it is discarded", async || inbox.state(id).await == State::Discarded).await;
    }
    inbox.actor.go_on();
    let retried = retrying.await.expect("no panic");
    let discarded = discarding.await.expect("no panic");

    assert_eq!((retried.is_ok(), discarded.is_ok()), (!overtakes, overtakes));
    let effects = usize::from(!overtakes);
    assert_eq!(inbox.effects().await.len(), effects);
    assert_eq!(usize::try_from(inbox.known().await), Ok(effects));
    assert_eq!((inbox.actor.told_of_commits(), inbox.show(id).await.actions.len()), (effects, 1));
}

async fn a_message_that_fails_again_stays_parked_with_the_new_reason_and_no_effect(inbox: Inbox) {
    for (then, detail) in [
        (Then::Retry, "not yet"),
        (Then::Park, "never"),
        (Then::Panic, "the handler panicked"),
        (Then::Nonsense, "NONSENSE"),
    ] {
        let id = inbox.park([message("it", then)]).await[0];
        let execute = "UPDATE parked_messages SET detail = 'old', reason = 'expired'";
        inbox.execute(execute).await;
        let refused =
            inbox.replayer().retry(id, &by("ann"), IN_TIME).await.expect_err("still failing");
        let ActionError::StillFailing { reason, detail: why } = refused else {
            panic!("{then:?}: {refused}");
        };
        assert_eq!(reason, Reason::HandlerFailed);
        assert!(why.contains(detail), "{then:?}: {why}");
        let details = inbox.show(id).await;
        assert_eq!((details.entry.state, details.entry.detail), (State::Parked, why));
        assert_eq!(details.entry.reason, "handler_failed");
        assert_eq!(details.actions.len(), 1);
    }
    assert_eq!((inbox.effects().await.len(), inbox.known().await), (0, 0));
    assert_eq!(inbox.actor.told_of_commits(), 0);
}

async fn a_message_that_cannot_be_read_stays_parked(inbox: Inbox) {
    let mut nameless = message("it", Then::Ack);
    nameless.properties.message_id = None;
    let mut strange = message("it", Then::Ack);
    strange.properties.kind = Some("Strange".to_owned());
    let known = message("known", Then::Ack);
    let mut other_body = message("other", Then::Ack);
    other_body.properties.message_id.clone_from(&known.properties.message_id);
    let running = inbox.run_consumer(quick());
    inbox.send(known);
    eventually("it is known", async || inbox.known().await == 1).await;
    running.stop().await;

    let reasons = [Reason::MalformedMessageId, Reason::UnknownType, Reason::DuplicateIdOtherBody];
    let ids = inbox.park([nameless, strange, other_body]).await;
    for (id, expected) in ids.into_iter().zip(reasons) {
        let refused =
            inbox.replayer().retry(id, &by("ann"), IN_TIME).await.expect_err("still failing");
        let ActionError::StillFailing { reason, .. } = refused else { panic!("{refused}") };
        assert_eq!(reason, expected);
        assert_eq!(inbox.state(id).await, State::Parked);
    }
    assert_eq!(inbox.effects().await, ["known"]);
}

async fn a_retry_survives_a_handler_that_panics_around_its_transaction(inbox: Inbox) {
    let messages = [message("poison", Then::PanicWhenRead), healing(&inbox, "it")];
    let ids = inbox.park(messages).await;
    let refused =
        inbox.replayer().retry(ids[0], &by("ann"), IN_TIME).await.expect_err("still failing");
    let ActionError::StillFailing { reason, detail } = refused else { panic!("{refused}") };
    assert_eq!((reason, detail.as_str()), (Reason::MalformedBody, "the decoder panicked"));
    assert_eq!(inbox.state(ids[0]).await, State::Parked);

    inbox.actor.panic_when_told();
    let outcome = inbox.replayer().retry(ids[1], &by("ann"), IN_TIME).await.expect("retried");
    assert_eq!(outcome, Outcome::Processed);
    assert_eq!(inbox.state(ids[1]).await, State::Retried);
}

async fn only_a_parked_message_of_this_consumer_can_be_retried(inbox: Inbox) {
    let message = healing(&inbox, "it");
    let id = inbox.park([message]).await[0];
    let other = Replayer::new(inbox.another_pool(), inbox.actor.clone(), "another");
    let refused = other.retry(id, &by("ann"), IN_TIME).await.expect_err("refused");
    assert!(matches!(refused, ActionError::OtherConsumer { .. }), "{refused}");
    let many =
        other.retry_many(Filter::default(), &by("ann"), IN_TIME, Run::Real).await.expect("done");
    assert_eq!(many, Retried::default());
    assert_eq!((inbox.state(id).await, inbox.effects().await.len()), (State::Parked, 0));

    let unknown: ParkedId = "0192b3c4-0000-7000-8000-00000000000a".parse().expect("an id");
    let refused = inbox.replayer().retry(unknown, &by("ann"), IN_TIME).await;
    assert!(matches!(refused, Err(ActionError::NotFound(_))));
    let refused = discard(&inbox.db, unknown, "ann", "why").await;
    assert!(matches!(refused, Err(ActionError::NotFound(_))));
}

async fn a_discarded_message_stays_visible_and_is_never_retried(inbox: Inbox) {
    let message = healing(&inbox, "it");
    let id = inbox.park([message]).await[0];
    discard(&inbox.db, id, "ann", "not wanted").await.expect("discarded");
    let retried = inbox.replayer().retry(id, &by("ann"), IN_TIME).await.map(|_| ());
    let discarded = discard(&inbox.db, id, "ann", "not wanted").await;
    for refused in [retried, discarded] {
        let refused = refused.expect_err("refused");
        let state = State::Discarded;
        assert!(matches!(refused, ActionError::NotParked { state: s, .. } if s == state));
    }
    let filter = Filter { state: Some(State::Discarded), ..Filter::default() };
    assert_eq!(inbox.list(filter, 9).await, [id]);
    assert_eq!(inbox.effects().await.len(), 0);
    assert_eq!(inbox.show(id).await.actions.len(), 1);
}

async fn every_action_records_who_when_why_and_what_came_of_it(inbox: Inbox) {
    inbox.actor.fail("it", 4);
    let ids = inbox.park([message("it", Then::Ack), message("other", Then::Park)]).await;
    let why = By { actor: "ann".to_owned(), reason: Some("the order exists now".to_owned()) };
    inbox.replayer().retry(ids[0], &why, IN_TIME).await.expect_err("once more");
    inbox.replayer().retry(ids[0], &by("bob"), IN_TIME).await.expect("retried");
    discard(&inbox.db, ids[1], "eve", "not wanted").await.expect("discarded");

    let recorded = async |id| {
        let actions = inbox.show(id).await.actions;
        assert!(actions.iter().all(|a| (Utc::now() - a.at).abs() < TimeDelta::hours(1)));
        let line = |a: inbox::parked::Action| {
            let (reason, outcome) = (a.reason.unwrap_or_default(), a.outcome.unwrap_or_default());
            format!("{} {}, {reason}, {outcome}", a.actor, a.action)
        };
        actions.into_iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(
        recorded(ids[0]).await,
        [
            "ann retry, the order exists now, still failing (handler_failed): told to fail",
            "bob retry, , processed"
        ]
    );
    assert_eq!(recorded(ids[1]).await, ["eve discard, not wanted, "]);
}

async fn retrying_many_takes_what_its_filter_says_and_a_dry_run_only_counts(inbox: Inbox) {
    let mut strange = message("strange", Then::Ack);
    strange.properties.kind = Some("Strange".to_owned());
    let messages =
        [healing(&inbox, "one"), healing(&inbox, "two"), message("hopeless", Then::Park), strange];
    let ids = inbox.park(messages).await;
    let many = async |filter: &Filter, run| {
        inbox.replayer().retry_many(filter.clone(), &by("ann"), IN_TIME, run).await.expect("done")
    };
    let failed = Filter { reason: Some(Reason::HandlerFailed), ..Filter::default() };
    assert_eq!(many(&failed, Run::Dry).await, Retried { count: 3, ..Retried::default() });
    assert_eq!(inbox.effects().await.len(), 0, "a dry run does nothing");
    let nobody = Filter { kind: Some("Nobody".to_owned()), ..failed.clone() };
    assert_eq!(many(&nobody, Run::Real).await.count, 0);
    let long_ago = Utc::now() - TimeDelta::days(1);
    let old = Filter { before: Some(long_ago), ..failed.clone() };
    assert_eq!(many(&old, Run::Real).await.count, 0);

    let expected = Retried { count: 3, processed: 2, duplicates: 0, still_failing: 1, too_old: 0 };
    assert_eq!(many(&failed, Run::Real).await, expected);
    assert_eq!(inbox.effects().await, ["one", "two"]);
    let calls = inbox.actor.calls();
    assert_eq!(calls[calls.len() - 3..], ["one", "two", "hopeless"], "oldest first");
    assert_eq!(inbox.show(ids[3]).await.actions, [], "another reason");
    assert_eq!(many(&Filter::default(), Run::Dry).await.count, 2);
}

async fn a_message_parked_longer_ago_than_the_inbox_remembers_is_retried_only_when_forced(
    inbox: Inbox,
) {
    let messages = [healing(&inbox, "old"), healing(&inbox, "new")];
    let ids = inbox.park(messages).await;
    inbox.set_age("parked_messages", "parked_at", 2, &format!("parked_id = '{}'", ids[0])).await;

    let refused = inbox.replayer().retry(ids[0], &by("ann"), IN_TIME).await.expect_err("refused");
    assert!(matches!(refused, ActionError::TooOld { .. }), "{refused}");
    let says = format!("message {} was parked 2 d ago: ", ids[0]);
    assert!(refused.to_string().starts_with(&says), "{refused}");
    let many = async |horizon, run| {
        inbox.replayer().retry_many(Filter::default(), &by("ann"), horizon, run).await
    };
    let counted = many(IN_TIME, Run::Dry).await.expect("counted");
    assert_eq!(counted, Retried { count: 1, too_old: 1, ..Retried::default() });
    let done = many(IN_TIME, Run::Real).await.expect("done");
    assert_eq!(done, Retried { count: 1, processed: 1, too_old: 1, ..Retried::default() });
    assert_eq!(inbox.effects().await, ["new"]);
    let old = inbox.show(ids[0]).await;
    assert_eq!((old.entry.state, old.actions.len()), (State::Parked, 0));

    let counted = many(Horizon::Forced, Run::Dry).await.expect("counted");
    assert_eq!((counted.count, counted.too_old), (1, 0));
    let forced = inbox.replayer().retry(ids[0], &by("ann"), Horizon::Forced).await;
    assert_eq!(forced.expect("forced"), Outcome::Processed);
    assert_eq!(inbox.effects().await, ["new", "old"]);
}

async fn a_message_delivered_again_after_its_retry_is_a_duplicate(inbox: Inbox) {
    let sent = healing(&inbox, "it");
    let id = inbox.park([sent.clone()]).await[0];
    inbox.replayer().retry(id, &by("ann"), IN_TIME).await.expect("retried");
    let running = inbox.run_consumer(quick());
    inbox.send(sent);
    eventually("it is settled", async || inbox.broker.settled().len() == 2).await;
    running.stop().await;
    assert_eq!(inbox.effects().await, ["it"]);
    assert_eq!(inbox.parked().await.len(), 1);
}

async fn lists_are_newest_first_and_their_pages_join_without_gap_or_double(inbox: Inbox) {
    let messages = (0..5).map(|number| message(&format!("it-{number}"), Then::Park));
    let mut ids = inbox.park(messages).await;
    ids.reverse();
    let mut pages = vec![];
    let mut cursor = None;
    loop {
        let page = inbox.list(Filter { cursor, ..Filter::default() }, 2).await;
        let Some(last) = page.last() else { break };
        cursor = Some(*last);
        pages.extend(page);
    }
    assert_eq!(pages, ids);
    let consumer = |name: &str| Filter { consumer: Some(name.to_owned()), ..Filter::default() };
    assert_eq!(inbox.list(consumer(CONSUMER), 9).await.len(), 5);
    assert_eq!(inbox.list(consumer("another"), 9).await, []);
    let expired = Filter { reason: Some(Reason::Expired), ..Filter::default() };
    assert_eq!(inbox.list(expired, 9).await, []);
}

async fn a_parked_message_is_shown_with_its_intact_bytes(inbox: Inbox) {
    let mut text = message("it", Then::Ack);
    text.body = "ä\0".as_bytes().to_vec();
    let mut bytes = text.clone();
    bytes.body = vec![0, 159, 255];
    let ids = inbox.park([text.clone(), bytes]).await;

    let details = inbox.show(ids[0]).await;
    assert_eq!((details.body.as_deref(), details.body_hex.as_str()), (Some("ä\0"), "c3a400"));
    assert_eq!(details.entry.message_id, text.properties.message_id);
    assert_eq!(
        (details.entry.reason.as_str(), &*details.entry.consumer),
        ("malformed_body", CONSUMER)
    );
    let expected: Value = json!({"routingKey": text.routing_key,
        "properties": text.properties, "headers": text.headers});
    assert_eq!(details.properties, expected);
    let details = inbox.show(ids[1]).await;
    assert_eq!((details.body, details.body_hex.as_str()), (None, "009fff"));
}
