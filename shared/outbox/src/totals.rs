use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a relay has counted since it started. Cheap to clone: all clones count together.
#[derive(Debug, Clone, Default)]
pub struct RelayTotals(Arc<Counters>);

/// The counters at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// Rows claimed.
    pub claimed: u64,
    /// Rows marked as sent.
    pub sent: u64,
    /// Rows whose answer could not be written down, for the lease had ended: another relay has them, and
    /// publishes them (again).
    pub lease_conflicts: u64,
    /// Messages without an answer from the broker, to be published again.
    pub unknown: u64,
    /// Messages that had no queue.
    pub unroutable: u64,
    /// Failures of a message's own: refused, too large, unreadable.
    pub failed: u64,
    /// Rows given up.
    pub dead: u64,
}

#[derive(Debug, Default)]
struct Counters {
    claimed: AtomicU64,
    sent: AtomicU64,
    lease_conflicts: AtomicU64,
    unknown: AtomicU64,
    unroutable: AtomicU64,
    failed: AtomicU64,
    dead: AtomicU64,
}

impl RelayTotals {
    /// Reads all counters.
    #[must_use]
    pub fn read(&self) -> Totals {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Totals {
            claimed: read(&self.0.claimed),
            sent: read(&self.0.sent),
            lease_conflicts: read(&self.0.lease_conflicts),
            unknown: read(&self.0.unknown),
            unroutable: read(&self.0.unroutable),
            failed: read(&self.0.failed),
            dead: read(&self.0.dead),
        }
    }

    pub(crate) fn claimed(&self, rows: usize) {
        add(&self.0.claimed, rows as u64);
    }

    pub(crate) fn sent(&self, rows: u64) {
        add(&self.0.sent, rows);
    }

    pub(crate) fn lease_conflicts(&self, rows: u64) {
        add(&self.0.lease_conflicts, rows);
    }

    pub(crate) fn unknown(&self, rows: usize) {
        add(&self.0.unknown, rows as u64);
    }

    pub(crate) fn unroutable(&self, rows: usize) {
        add(&self.0.unroutable, rows as u64);
    }

    pub(crate) fn failed(&self, rows: usize) {
        add(&self.0.failed, rows as u64);
    }

    pub(crate) fn dead(&self, rows: u64) {
        add(&self.0.dead, rows);
    }
}

fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}
