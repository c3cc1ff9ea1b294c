use std::str::FromStr;
use std::time::Duration;

use database::DayWindow;

/// What becomes of a row whose time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RetentionMode {
    /// It is deleted.
    #[default]
    Delete,
    /// It moves to `outbox_archives`.
    Archive,
}

/// How a [`crate::Cleaner`] works.
#[derive(Debug, Clone)]
pub struct RetentionOptions {
    /// Identifies this cleaner in `outbox_leases`, for people.
    pub owner: String,
    /// How long a sent row stays. A receiver's inbox must remember at least as long: while the row
    /// is there, it can be sent again.
    pub retention: Duration,
    /// What becomes of it then.
    pub mode: RetentionMode,
    /// When cleaning is allowed, by the database's clock.
    pub window: DayWindow,
    /// Rows in one transaction.
    pub batch_size: u32,
    /// The wait after each of them, also where nothing was to be removed, so that the relay's own are
    /// not held up.
    pub pause: Duration,
    /// How long it has the outbox to itself without renewing: when a cleaner dies, another one waits for
    /// so long. It is renewed between two batches when a third of it is gone.
    pub lease: Duration,
    /// The wait between two runs.
    pub interval: Duration,
}

impl Default for RetentionOptions {
    fn default() -> Self {
        Self {
            owner: format!("cleaner-{}", std::process::id()),
            retention: Duration::from_secs(7 * 24 * 3600),
            mode: RetentionMode::Delete,
            window: DayWindow::Always,
            batch_size: 1000,
            pause: Duration::from_millis(100),
            lease: Duration::from_secs(30),
            interval: Duration::from_secs(60),
        }
    }
}

/// The options can't work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRetentionOptions {
    /// Each row of a batch is a parameter of a statement, and those are limited.
    #[error("cleanup batch size: expected 1 to 10000")]
    BatchSize,
    /// A run without a pause after it is a busy loop.
    #[error("cleanup interval: expected at least 10 ms")]
    Interval,
    /// It is the lease that keeps two cleaners apart, and it is renewed after a pause.
    #[error("cleanup pause: expected at most a third of the lease")]
    Pause,
    /// With a shorter one, two cleaners take turns at each batch.
    #[error("cleanup lease: expected at least 100 ms")]
    Lease,
}

impl RetentionOptions {
    /// Refuses what can't work.
    ///
    /// # Errors
    /// The first option that is out of its range.
    pub fn validate(&self) -> Result<(), InvalidRetentionOptions> {
        if !(1..=10_000).contains(&self.batch_size) {
            return Err(InvalidRetentionOptions::BatchSize);
        }
        if self.interval < Duration::from_millis(10) {
            return Err(InvalidRetentionOptions::Interval);
        }
        if self.lease < Duration::from_millis(100) {
            return Err(InvalidRetentionOptions::Lease);
        }
        if self.pause > self.lease / 3 {
            return Err(InvalidRetentionOptions::Pause);
        }
        Ok(())
    }
}

impl FromStr for RetentionMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "delete" => Ok(Self::Delete),
            "archive" => Ok(Self::Archive),
            _ => Err("expected delete or archive".to_owned()),
        }
    }
}
