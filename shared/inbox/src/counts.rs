use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a consumer has done since it was made. Clones are cheap and see the same numbers; for
/// metrics, and for people.
#[derive(Debug, Clone, Default)]
pub struct ConsumerCounts(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    processed: AtomicU64,
    duplicates: AtomicU64,
    stale: AtomicU64,
    parked: AtomicU64,
    retried: AtomicU64,
    gaps_given_up: AtomicU64,
}

/// The numbers at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConsumerTotals {
    /// Messages whose effect was committed.
    pub processed: u64,
    /// Deliveries whose effect was there already.
    pub duplicates: u64,
    /// Messages that came after a later version of their aggregate and were dropped.
    pub stale: u64,
    /// Messages that were parked. Dead letters of the broker are not among them.
    pub parked: u64,
    /// Failed tries that are followed by another one.
    pub retried: u64,
    /// Messages that were handled although an earlier version had not come.
    pub gaps_given_up: u64,
}

/// One thing that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    Processed,
    Duplicate,
    Stale,
    Parked,
    Retried,
    GapGivenUp,
}

impl ConsumerCounts {
    /// The numbers now.
    #[must_use]
    pub fn totals(&self) -> ConsumerTotals {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ConsumerTotals {
            processed: read(&self.0.processed),
            duplicates: read(&self.0.duplicates),
            stale: read(&self.0.stale),
            parked: read(&self.0.parked),
            retried: read(&self.0.retried),
            gaps_given_up: read(&self.0.gaps_given_up),
        }
    }

    pub(crate) fn add(&self, count: Count) {
        let counter = match count {
            Count::Processed => &self.0.processed,
            Count::Duplicate => &self.0.duplicates,
            Count::Stale => &self.0.stale,
            Count::Parked => &self.0.parked,
            Count::Retried => &self.0.retried,
            Count::GapGivenUp => &self.0.gaps_given_up,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}
