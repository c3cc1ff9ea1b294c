//! Writes back what became of a batch, each kind in one statement.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use backon::{ConstantBuilder, Retryable};
use database::Failure;
use sea_orm::{DatabaseConnection, DbErr};
use transport::Outcome;

use crate::rows::{Claimed, Failing, Garbage};
use crate::store::{self, Again};
use crate::{Coordination, RelayOptions, RelayTotals};

/// What all batches of a relay share.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) db: DatabaseConnection,
    pub(crate) options: RelayOptions,
    pub(crate) totals: RelayTotals,
    /// When it was last said of a type that its messages have no queue.
    pub(crate) told: Mutex<HashMap<String, Instant>>,
}

/// How long nothing more is said of it.
const QUIET: Duration = Duration::from_secs(60);

/// A batch's claim, as far as writing back needs it.
#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    pub(crate) token: String,
    /// Taken before the claim: the lease ends no earlier than one lease after it.
    pub(crate) claimed_at: Instant,
}

/// What was written back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Written {
    /// Rows marked as sent.
    pub(crate) sent: u64,
    /// A leader: how long to wait before the next look, since the first row has failed.
    pub(crate) wait: Option<Duration>,
}

impl Desk {
    /// Writes back what the broker answered, row by row in the same order. Rows beyond the last
    /// answer were not published.
    pub(crate) async fn answers(
        &self,
        ticket: &Ticket,
        rows: &[Claimed],
        outcomes: Vec<Outcome>,
    ) -> Result<Written, DbErr> {
        let (mut confirmed, mut unknown, mut failed) = (vec![], vec![], vec![]);
        let mut unroutable: BTreeMap<(&str, String), Vec<i64>> = BTreeMap::new();
        let answered = outcomes.len();
        for (row, outcome) in rows.iter().zip(outcomes) {
            match outcome {
                Outcome::Confirmed => confirmed.push(row.id),
                Outcome::Unknown => unknown.push(row.id),
                Outcome::Unroutable(reason) => {
                    unroutable.entry((&row.kind, reason)).or_default().push(row.id);
                }
                Outcome::Nacked => {
                    failed.push((row.failing(), "the broker refused it (nack)".to_owned()));
                }
                Outcome::Refused(reason) => failed.push((row.failing(), reason)),
            }
        }
        let untouched: Vec<_> = rows.iter().skip(answered).map(|row| row.id).collect();
        let sent = self.mark_sent(ticket, &confirmed).await?;
        self.totals.unknown(unknown.len());
        let reason = Some("no answer from the broker");
        let ours = store::release(&self.db, &ticket.token, &unknown, reason).await?;
        self.conflicts(unknown.len(), ours);
        let ours = store::release(&self.db, &ticket.token, &untouched, None).await?;
        self.conflicts(untouched.len(), ours);
        let mut wait = None;
        for ((kind, reason), ids) in &unroutable {
            wait = wait.max(self.postpone_unroutable(ticket, ids, kind, reason).await?);
        }
        wait = wait.max(self.failures(ticket, failed).await?);
        Ok(Written { sent, wait })
    }

    /// Writes back what never was a message.
    pub(crate) async fn garbage(
        &self,
        ticket: &Ticket,
        garbage: Vec<Garbage>,
    ) -> Result<Option<Duration>, DbErr> {
        self.failures(ticket, garbage.into_iter().map(|it| (it.row, it.reason)).collect()).await
    }

    async fn mark_sent(&self, ticket: &Ticket, ids: &[i64]) -> Result<u64, DbErr> {
        let mut tries = 0;
        let marked = self
            .insist(ticket, || {
                tries += 1;
                store::mark_sent(&self.db, &ticket.token, ids)
            })
            .await?;
        self.totals.sent(marked);
        // After a try whose answer was lost, the rows may be missing because they are marked already.
        if tries == 1 {
            self.conflicts(ids.len(), marked);
        }
        Ok(marked)
    }

    /// The lease has ended before something was written back: another relay has these rows.
    fn conflicts(&self, expected: usize, ours: u64) {
        let lost = (expected as u64).saturating_sub(ours);
        if lost > 0 {
            self.totals.lease_conflicts(lost);
            tracing::warn!(
                lost,
                "lease ended before the answer was written down: another relay has these rows and publishes them"
            );
        }
    }

    /// Unroutable costs no try: the row is fine, a queue is missing. It heals when the binding is back.
    async fn postpone_unroutable(
        &self,
        ticket: &Ticket,
        ids: &[i64],
        kind: &str,
        reason: &str,
    ) -> Result<Option<Duration>, DbErr> {
        let reason = format!("unroutable: {reason}");
        if self.is_news(kind) {
            tracing::warn!(kind, messages = ids.len(), "{reason}; trying again slowly");
        }
        self.totals.unroutable(ids.len());
        let delay = self.options.unroutable_interval;
        let again = self.again(delay);
        let ours = store::postpone(&self.db, &ticket.token, ids, again, &reason).await?;
        self.conflicts(ids.len(), ours);
        Ok(self.leads().then_some(delay))
    }

    /// One line a minute for each type: there may be thousands of such messages, tried again and again.
    fn is_news(&self, kind: &str) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let news = told.get(kind).is_none_or(|last| last.elapsed() > QUIET);
        if news {
            told.insert(kind.to_owned(), Instant::now());
        }
        news
    }

    /// Failures of the messages themselves. Rows that failed as often and for the same reason share
    /// one statement.
    async fn failures(
        &self,
        ticket: &Ticket,
        failed: Vec<(Failing, String)>,
    ) -> Result<Option<Duration>, DbErr> {
        self.totals.failed(failed.len());
        let mut alike: BTreeMap<(u32, String), Vec<Failing>> = BTreeMap::new();
        for (row, reason) in failed {
            let failures = row.retry_count.unsigned_abs().saturating_add(1);
            alike.entry((failures, reason)).or_default().push(row);
        }
        let options = &self.options;
        let mut wait = None;
        for ((failures, reason), rows) in alike {
            let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
            let delay = options.backoff.delay(options.backoff_base, failures, options.max_retries);
            let again = delay.map_or(Again::Never, |delay| self.again(delay));
            let ours = store::fail(&self.db, &ticket.token, &ids, again, &reason).await?;
            self.conflicts(ids.len(), ours.len() as u64);
            if again == Again::Never {
                self.totals.dead(ours.len() as u64);
                for Failing { message_id, kind, .. } in
                    rows.iter().filter(|row| ours.contains(&row.id))
                {
                    tracing::warn!(%message_id, kind, failures, "dead: {reason}");
                }
            }
            wait = wait.max(delay.filter(|_| self.leads()));
        }
        Ok(wait)
    }

    /// In total order a row that failed keeps its place, and the leader waits in front of it.
    fn again(&self, delay: Duration) -> Again {
        match self.options.coordination {
            Coordination::Shared => Again::After(delay),
            Coordination::Leader => Again::AtOnce,
        }
    }

    fn leads(&self) -> bool {
        self.options.coordination == Coordination::Leader
    }

    /// Tries until the lease ends. The broker has confirmed: giving up now would publish it all again.
    async fn insist<F, W>(&self, ticket: &Ticket, write: F) -> Result<u64, DbErr>
    where
        F: FnMut() -> W,
        W: Future<Output = Result<u64, DbErr>>,
    {
        let pause = ConstantBuilder::default().with_delay(Duration::from_millis(100));
        let in_time = || ticket.claimed_at.elapsed() < self.options.lease;
        let again = |error: &DbErr| Failure::of(error).is_transient() && in_time();
        write.retry(pause.without_max_times()).when(again).await
    }
}
