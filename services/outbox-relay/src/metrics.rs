//! The relay's own part of `/metrics`: the backlog, by which one scales, and what this process did.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use outbox::dead_letters::{Backlog, backlog};
use outbox::{RelayTotals, Totals};
use sea_orm::DatabaseConnection;
use service_kit::metrics::{Sample, Source};
use tokio::sync::Mutex;

/// However many ask, the database is asked once in this time.
const KEPT: Duration = Duration::from_secs(1);

/// How long the database may take. Far below what a scraper waits.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// One outbox, and the relay that moves its messages.
pub(crate) struct Outbox {
    db: DatabaseConnection,
    totals: RelayTotals,
    kept: Duration,
    last: Mutex<Option<Read>>,
}

#[derive(Clone, Copy)]
struct Read {
    at: Instant,
    /// None: the database did not tell.
    backlog: Option<Backlog>,
}

impl Outbox {
    pub(crate) fn new(db: DatabaseConnection, totals: RelayTotals) -> Self {
        Self { db, totals, kept: KEPT, last: Mutex::default() }
    }

    async fn backlog(&self) -> Option<Backlog> {
        let mut last = self.last.lock().await;
        if let Some(read) = last.filter(|read| read.at.elapsed() < self.kept) {
            return read.backlog;
        }
        let db = self.db.clone();
        // In a task of its own: a time-out must not drop a transaction in the middle.
        let asked = tokio::spawn(async move { backlog(&db).await });
        let answer = tokio::time::timeout(TIME_LIMIT, asked).await;
        let backlog = answer.ok().and_then(Result::ok).and_then(Result::ok);
        *last = Some(Read { at: Instant::now(), backlog });
        backlog
    }
}

#[async_trait]
impl Source for Outbox {
    async fn samples(&self) -> Vec<Sample> {
        let backlog = self.backlog().await;
        let mut samples = done(self.totals.read());
        samples.push(Sample::yes_or_no(
            "outbox_figures_up",
            "The database tells the figures of the outbox; 0: they are left out",
            backlog.is_some(),
        ));
        samples.extend(backlog.into_iter().flat_map(left));
        samples
    }
}

/// What this process has done since it started.
fn done(totals: Totals) -> Vec<Sample> {
    vec![
        Sample::counter("outbox_claimed", "Rows claimed", totals.claimed),
        Sample::counter("outbox_sent", "Rows marked as sent", totals.sent),
        Sample::counter(
            "outbox_lease_conflicts",
            "Answers that came after the lease had ended",
            totals.lease_conflicts,
        ),
        Sample::counter(
            "outbox_unknown",
            "Messages without an answer from the broker",
            totals.unknown,
        ),
        Sample::counter("outbox_unroutable", "Messages that had no queue", totals.unroutable),
        Sample::counter("outbox_failed", "Failures of a message's own", totals.failed),
        Sample::counter("outbox_dead", "Rows given up", totals.dead),
    ]
}

/// What is in the outbox, for all its relays together.
#[allow(clippy::cast_precision_loss, reason = "no table has so many rows")]
fn left(backlog: Backlog) -> [Sample; 3] {
    let age = backlog.oldest_pending_age_ms.unwrap_or(0).max(0);
    [
        Sample::gauge("outbox_pending_messages", "Messages that wait", backlog.pending as f64),
        Sample::gauge(
            "outbox_oldest_pending_age_seconds",
            "The age of the first message that waits; 0: none does",
            age as f64 / 1000.0,
        ),
        Sample::gauge("outbox_dead_messages", "Messages given up", backlog.dead as f64),
    ]
}

#[cfg(test)]
mod tests {
    use outbox::NewMessage;
    use test_kit::{Backing, Storage, connect};

    use super::*;

    #[tokio::test]
    async fn however_many_ask_the_database_is_asked_once_in_a_while_on_sqlite() {
        however_many_ask_the_database_is_asked_once_in_a_while(Backing::Embedded).await;
    }

    #[tokio::test]
    async fn however_many_ask_the_database_is_asked_once_in_a_while_on_postgres() {
        however_many_ask_the_database_is_asked_once_in_a_while(Backing::Servers).await;
    }

    async fn however_many_ask_the_database_is_asked_once_in_a_while(backing: Backing) {
        let storage = Storage::new(backing);
        let db = connect(&storage.create_database("outbox").await.expect("a database"));
        let db = db.expect("a pool");
        let of = |kept| Outbox { kept, ..Outbox::new(db.clone(), RelayTotals::default()) };
        let (seldom, always) = (of(Duration::from_secs(3600)), of(Duration::ZERO));
        assert_eq!(seldom.backlog().await, None, "there is no table yet");

        outbox::schema::up(&db).await.expect("tables");
        let tx = database::begin_write(&db).await.expect("a transaction");
        let message = NewMessage::new("order", "a", 1, "OrderPlaced", &1).expect("JSON");
        outbox::append(&tx, message).await.expect("appended");
        tx.commit().await.expect("committed");
        assert_eq!(seldom.backlog().await, None, "it was asked just now");
        assert_eq!(always.backlog().await.expect("a backlog").pending, 1);
    }
}
