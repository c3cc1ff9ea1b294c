//! Retention: rows that were sent long ago are deleted or archived, everything else stays.

mod options;
mod store;

use std::time::Instant;

use database::Failure;
use sea_orm::{DatabaseConnection, DbErr};
use tokio_util::sync::CancellationToken;

pub use options::{InvalidRetentionOptions, RetentionMode, RetentionOptions};
pub use store::count_removable;

use crate::lease::Lease;

/// What one cleaner has at a time, among all that share a database.
const LEASE: &str = "cleanup";

/// What a run of the [`Cleaner`] came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleaned {
    /// The window of the day is closed.
    NotNow,
    /// Another cleaner is at work on this outbox.
    Elsewhere,
    /// So many rows were deleted or archived.
    Removed(u64),
}

/// Removes rows that were sent longer ago than the retention. Never a pending, dead or discarded
/// one, whatever its age.
///
/// Run one beside each relay: a lease sees to it that one of them works. It goes through the table
/// by its primary key, a small batch and a short transaction at a time. An index by time would make
/// that quicker and every mark of the relay slower, and marks are what an outbox mostly does.
#[derive(Debug)]
pub struct Cleaner {
    db: DatabaseConnection,
    options: RetentionOptions,
    lease: Lease,
}

impl Cleaner {
    /// Makes a cleaner; it connects to nothing yet.
    ///
    /// # Errors
    /// An option is out of its range.
    pub fn new(
        db: DatabaseConnection,
        options: RetentionOptions,
    ) -> Result<Self, InvalidRetentionOptions> {
        options.validate()?;
        let lease = Lease::new(LEASE, &options.owner);
        Ok(Self { db, options, lease })
    }

    /// Cleans up from time to time until `shutdown`. Survives the loss of the database.
    pub async fn run(self, shutdown: CancellationToken) {
        while !shutdown.is_cancelled() {
            if let Err(error) = self.clean(&shutdown).await {
                note(&error);
            }
            let _ = shutdown.run_until_cancelled(tokio::time::sleep(self.options.interval)).await;
        }
    }

    /// Goes through the outbox once. Public so that tests and commands can take single runs.
    ///
    /// # Errors
    /// Whatever the database answers. What was removed before it is removed; call again.
    pub async fn run_once(&self) -> Result<Cleaned, DbErr> {
        self.clean(&CancellationToken::new()).await
    }

    async fn clean(&self, shutdown: &CancellationToken) -> Result<Cleaned, DbErr> {
        if !self.options.window.is_open(&self.db).await? {
            return Ok(Cleaned::NotNow);
        }
        if !self.lease.take(&self.db, self.options.lease).await? {
            return Ok(Cleaned::Elsewhere);
        }
        let mut removed = 0;
        let walked = self.walk(&mut removed, shutdown).await;
        if removed > 0 {
            tracing::info!("Cleaned up {removed} processed outbox messages");
        }
        walked?;
        self.lease.give_back(&self.db).await?;
        Ok(Cleaned::Removed(removed))
    }

    /// Stops at the first rows that are too young, when the lease is lost, when the window closes.
    async fn walk(&self, removed: &mut u64, shutdown: &CancellationToken) -> Result<(), DbErr> {
        let RetentionOptions { retention, mode, batch_size, pause, .. } = self.options;
        let mut after = 0;
        let mut renewed = Instant::now();
        while let Some(stretch) = store::stretch(&self.db, after, retention, batch_size).await? {
            if !stretch.removable.is_empty() {
                *removed += store::remove(&self.db, &stretch.removable, retention, mode).await?;
            } else if stretch.ends_young {
                break;
            }
            after = stretch.last_id;
            // Locks and disk are free for the relay in between, also where there was only to read:
            // millions of old rows that stay would be one tight loop.
            let _ = shutdown.run_until_cancelled(tokio::time::sleep(pause)).await;
            if shutdown.is_cancelled() || !self.may_go_on(&mut renewed).await? {
                break;
            }
        }
        Ok(())
    }

    /// By time and not by batch: a renewal is a write, and where rows stay there is none besides.
    async fn may_go_on(&self, renewed: &mut Instant) -> Result<bool, DbErr> {
        if renewed.elapsed() >= self.options.lease / 3 {
            if !self.lease.take(&self.db, self.options.lease).await? {
                return Ok(false);
            }
            *renewed = Instant::now();
        }
        self.options.window.is_open(&self.db).await
    }
}

/// An outage is the relay's to report, once for the process. Anything else needs a person.
fn note(error: &DbErr) {
    if Failure::of(error).is_transient() {
        tracing::debug!(%error, "the outbox was not cleaned up, trying again");
    } else {
        tracing::warn!("the outbox was not cleaned up, trying again: {error}");
    }
}
