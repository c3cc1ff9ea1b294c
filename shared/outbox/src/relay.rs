//! The relay: moves committed rows from the outbox to the broker.
//!
//! Run as many as you like, in one process or in many. Each pass claims a batch under a lease,
//! publishes all of it, waits for every confirm, and writes back what it learned. No transaction is
//! open while it talks to the broker. A pass that dies anywhere leaves rows that are claimed; their
//! lease ends and another pass publishes them, perhaps for the second time. The receiver's inbox
//! makes that harmless; nothing else could.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use crash_points::crash_point;
use database::Hint;
use sea_orm::{DatabaseConnection, DbErr};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use transport::{Link, LinkState, Message, Outcome, Publisher, Transport, TransportError};

use crate::store::{self, Claim, Claimed};
use crate::{InvalidRelayOptions, RelayOptions, envelope};

/// What a pass did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// Nothing was due.
    Idle,
    /// So many rows were claimed, and so many of them are sent.
    Moved {
        /// Rows claimed.
        claimed: usize,
        /// Rows that the broker confirmed and that were marked.
        sent: usize,
    },
}

/// Why a pass failed. The relay tries again for ever; this is for its log and its health.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The broker.
    #[error("{}", .0.one_line())]
    Broker(#[source] TransportError),
    /// The database.
    #[error("{0}")]
    Database(#[from] DbErr),
}

/// What health checks may watch.
#[derive(Debug, Clone)]
pub struct RelayHealth {
    /// The broker's session.
    pub broker: watch::Receiver<LinkState>,
    /// The outbox's database.
    pub database: watch::Receiver<LinkState>,
}

/// Moves the rows of one outbox to one broker.
pub struct Relay {
    db: DatabaseConnection,
    transport: Arc<dyn Transport>,
    options: RelayOptions,
    hint: Hint,
    publisher: Option<Box<dyn Publisher>>,
    broker_link: Link,
    database_link: Link,
}

impl Relay {
    /// Makes a relay; it connects to nothing yet.
    ///
    /// # Errors
    /// An option is out of its range.
    pub fn new(
        db: DatabaseConnection,
        transport: Arc<dyn Transport>,
        options: RelayOptions,
    ) -> Result<Self, InvalidRelayOptions> {
        options.validate()?;
        Ok(Self {
            db,
            transport,
            options,
            hint: Hint::default(),
            publisher: None,
            broker_link: Link::new("broker"),
            database_link: Link::new("database"),
        })
    }

    /// Raise it after a commit in this same process, and the relay looks at once.
    #[must_use]
    pub fn hint(&self) -> Hint {
        self.hint.clone()
    }

    /// What health checks may watch.
    #[must_use]
    pub fn health(&self) -> RelayHealth {
        RelayHealth { broker: self.broker_link.watch(), database: self.database_link.watch() }
    }

    /// Runs until `shutdown`, then finishes the pass in hand. Survives the loss of broker and database.
    pub async fn run(mut self, shutdown: CancellationToken) {
        database::listen(&self.db, crate::HINT_CHANNEL, self.hint.clone(), shutdown.clone());
        let mut delays = outage_delays();
        while !shutdown.is_cancelled() {
            match self.run_once().await {
                Ok(pass) => {
                    delays = outage_delays();
                    if pass == Pass::Idle {
                        self.wait_for_work(&shutdown).await;
                    }
                }
                Err(error) => {
                    self.note(&error);
                    let delay = delays.next().unwrap_or(self.options.poll_interval);
                    let _ = shutdown.run_until_cancelled(tokio::time::sleep(delay)).await;
                }
            }
        }
    }

    async fn wait_for_work(&self, shutdown: &CancellationToken) {
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = self.hint.given() => {} // kept if it came while nobody waited: none is missed
            () = tokio::time::sleep(self.options.poll_interval) => {} // the truth
        }
    }

    /// One pass: session, claim, publish, write back. Public so that tests can take single steps.
    ///
    /// # Errors
    /// Broker or database are away. Nothing is lost by it; call again.
    pub async fn run_once(&mut self) -> Result<Pass, RelayError> {
        // Before the claim: during an outage nothing is claimed, so no row pays for it.
        self.ensure_session().await?;
        let token = uuid::Uuid::now_v7().to_string();
        let claim = Claim { owner: &self.options.owner, token: &token };
        let batch =
            store::claim(&self.db, &claim, self.options.lease, self.options.batch_size).await?;
        self.database_link.up();
        let Some(publisher) = self.publisher.as_ref().filter(|_| !batch.is_empty()) else {
            return Ok(Pass::Idle);
        };
        crash_point!("C6"); // claimed, not published: the lease ends, another relay publishes

        let (rows, messages, unreadable) = self.to_messages(batch);
        let published = publisher.publish(&messages).await;
        crash_point!("C8"); // confirmed, not marked: published again, the inbox takes it

        let claimed = rows.len() + unreadable.len();
        for (row, reason) in unreadable {
            self.fail(&token, &row, &reason).await?;
        }
        let sent = self.write_back(&token, &rows, published.outcomes).await?;
        crash_point!("C10"); // marked: nothing is left to do
        match published.lost {
            None => Ok(Pass::Moved { claimed, sent }),
            Some(error) => {
                self.publisher = None;
                Err(RelayError::Broker(error))
            }
        }
    }

    /// Writes back what the broker answered, each kind in one statement.
    async fn write_back(
        &self,
        token: &str,
        rows: &[Claimed],
        outcomes: Vec<Outcome>,
    ) -> Result<usize, DbErr> {
        let (mut confirmed, mut unknown, mut failed) = (vec![], vec![], vec![]);
        let mut unroutable: BTreeMap<(&str, String), Vec<i64>> = BTreeMap::new();
        for (row, outcome) in rows.iter().zip(outcomes) {
            match outcome {
                Outcome::Confirmed => confirmed.push(row.id),
                Outcome::Unknown => unknown.push(row.id),
                Outcome::Unroutable(reason) => {
                    unroutable.entry((&row.kind, reason)).or_default().push(row.id);
                }
                Outcome::Nacked => failed.push((row, "the broker refused it (nack)".to_owned())),
                Outcome::Refused(reason) => failed.push((row, reason)),
            }
        }
        let sent = store::mark_sent(&self.db, token, &confirmed).await?;
        self.note_conflicts(confirmed.len(), sent);
        store::release(&self.db, token, &unknown, "no answer from the broker").await?;
        for ((kind, reason), ids) in &unroutable {
            self.postpone_unroutable(token, ids, kind, reason).await?;
        }
        for (row, reason) in &failed {
            self.fail(token, row, reason).await?;
        }
        Ok(usize::try_from(sent).unwrap_or(usize::MAX))
    }

    /// Unroutable costs no try: the row is fine, a queue is missing. It heals when the binding is back.
    async fn postpone_unroutable(
        &self,
        token: &str,
        ids: &[i64],
        kind: &str,
        reason: &str,
    ) -> Result<(), DbErr> {
        let reason = format!("unroutable: {reason}");
        tracing::warn!(kind, messages = ids.len(), "{reason}; trying again slowly");
        let delay = self.options.unroutable_interval;
        store::postpone(&self.db, token, ids, delay, &reason).await?;
        Ok(())
    }

    async fn fail(&self, token: &str, row: &Claimed, reason: &str) -> Result<(), DbErr> {
        let failures = row.retry_count.unsigned_abs().saturating_add(1);
        let options = &self.options;
        let delay = options.backoff.delay(options.backoff_base, failures, options.max_retries);
        if delay.is_none() {
            tracing::warn!(message_id = %row.message_id, kind = row.kind, failures, "dead: {reason}");
        }
        store::fail(&self.db, token, row.id, delay, reason).await?;
        Ok(())
    }

    async fn ensure_session(&mut self) -> Result<(), RelayError> {
        if let Some(publisher) = &self.publisher {
            if let Err(error) = publisher.check().await {
                self.publisher = None;
                return Err(RelayError::Broker(error));
            }
        } else {
            let opened = self.transport.publisher().await;
            self.publisher = Some(opened.map_err(RelayError::Broker)?);
        }
        self.broker_link.up();
        Ok(())
    }

    /// Splits a batch into what can be published, with its messages, and what can't, with the reason.
    fn to_messages(
        &self,
        batch: Vec<Claimed>,
    ) -> (Vec<Claimed>, Vec<Message>, Vec<(Claimed, String)>) {
        let (mut rows, mut messages, mut unreadable) = (vec![], vec![], vec![]);
        for row in batch {
            match envelope::message(&row, &self.options) {
                Ok(message) => {
                    rows.push(row);
                    messages.push(message);
                }
                Err(error) => unreadable.push((row, format!("can't be made a message: {error}"))),
            }
        }
        (rows, messages, unreadable)
    }

    fn note(&mut self, error: &RelayError) {
        match error {
            RelayError::Broker(_) => self.broker_link.down(error),
            RelayError::Database(_) => self.database_link.down(error),
        }
    }

    fn note_conflicts(&self, expected: usize, marked: u64) {
        let lost = (expected as u64).saturating_sub(marked);
        if lost > 0 {
            tracing::warn!(
                lost,
                "lease ended before the mark: another relay has these rows and will publish them again"
            );
        }
    }
}

/// From a tenth of a second to one: a broker that is back should not wait for us.
fn outage_delays() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(100))
        .with_max_delay(Duration::from_secs(1))
        .with_jitter()
        .without_max_times()
        .build()
}
