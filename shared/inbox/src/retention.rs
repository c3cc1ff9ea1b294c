//! Retention: what was processed long ago is forgotten.

use std::time::Duration;

use database::{DayWindow, Dialect, Failure};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr, Value};
use tokio_util::sync::CancellationToken;

/// A hundred years stand for "for ever": no calendar of a database ends before that.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// How a [`Cleaner`] works.
#[derive(Debug, Clone)]
pub struct RetentionOptions {
    /// How long the inbox remembers a message. A copy that arrives later has its effect a second
    /// time, so this is never shorter than a sender can send it again: its outbox's retention.
    pub retention: Duration,
    /// When cleaning is allowed, by the database's clock.
    pub window: DayWindow,
    /// Rows in one statement, at least 1.
    pub batch_size: u32,
    /// The wait between two statements, so that messages are not held up.
    pub pause: Duration,
    /// The wait between two runs.
    pub interval: Duration,
}

impl Default for RetentionOptions {
    fn default() -> Self {
        Self {
            retention: Duration::from_secs(14 * 24 * 3600),
            window: DayWindow::Always,
            batch_size: 1000,
            pause: Duration::from_millis(100),
            interval: Duration::from_secs(60),
        }
    }
}

/// What a run of the [`Cleaner`] came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleaned {
    /// The window of the day is closed.
    NotNow,
    /// So many messages were forgotten.
    Removed(u64),
}

/// A message that is tried again is started at least so often.
const LONGEST_TRY: Duration = Duration::from_secs(2 * 24 * 3600);

/// Forgets what one consumer has processed longer ago than the retention: rows of `inbox_messages`.
/// Rows of `inbox_attempts` go as well when nobody has gone on with them for so long.
///
/// `inbox_positions` stays, one row for each aggregate: an aggregate that went on without its
/// position would wait for versions that were there long ago. Other consumers of the database have a retention of their own.
///
/// Any number may run: they pass over each other's rows, and deleting twice is deleting once.
#[derive(Debug)]
pub struct Cleaner {
    db: DatabaseConnection,
    consumer: String,
    options: RetentionOptions,
}

impl Cleaner {
    /// Makes a cleaner for the rows of `consumer`; it connects to nothing yet.
    #[must_use]
    pub fn new(db: DatabaseConnection, consumer: &str, options: RetentionOptions) -> Self {
        Self { db, consumer: consumer.to_owned(), options }
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

    /// Removes everything that is old enough. Public so that tests can take single runs.
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
        let mut removed = 0;
        let mut walked = self.walk(&mut removed, shutdown).await;
        if walked.is_ok() {
            walked = self.remove_attempts().await.map(|_| ());
        }
        if removed > 0 {
            tracing::info!("Cleaned up {removed} inbox messages");
        }
        walked.map(|()| Cleaned::Removed(removed))
    }

    async fn walk(&self, removed: &mut u64, shutdown: &CancellationToken) -> Result<(), DbErr> {
        loop {
            let batch = self.remove_batch().await?;
            *removed += batch;
            // Fewer than a batch: that was the last one, or another cleaner is at the rest.
            if batch < u64::from(self.options.batch_size.max(1)) {
                return Ok(());
            }
            let _ = shutdown.run_until_cancelled(tokio::time::sleep(self.options.pause)).await;
            if shutdown.is_cancelled() || !self.options.window.is_open(&self.db).await? {
                return Ok(());
            }
        }
    }

    async fn remove_batch(&self) -> Result<u64, DbErr> {
        let dialect = Dialect::of(&self.db);
        let sql = removal(dialect, "inbox_messages", "processed_at", self.options.batch_size);
        self.remove(sql, self.options.retention).await
    }

    /// Counted starts that nobody goes on with: their messages were taken off the queue by hand, say.
    async fn remove_attempts(&self) -> Result<u64, DbErr> {
        let dialect = Dialect::of(&self.db);
        let sql = removal(dialect, "inbox_attempts", "started_at", self.options.batch_size);
        self.remove(sql, self.options.retention.max(LONGEST_TRY)).await
    }

    async fn remove(&self, sql: String, age: Duration) -> Result<u64, DbErr> {
        let dialect = Dialect::of(&self.db);
        let age = age.min(FOR_EVER).as_millis();
        let age = i64::try_from(age).unwrap_or(i64::MAX);
        let values = [Value::from(self.consumer.as_str()), age.into()];
        let deleted = self.db.execute_raw(dialect.statement(sql, values)).await?;
        Ok(deleted.rows_affected())
    }
}

/// Removes the rows of the consumer `$1` that are more than `$2` milliseconds old, the oldest first. By the
/// rows' addresses: whatever PostgreSQL's statistics say, there is nothing to join.
fn removal(dialect: Dialect, table: &str, time: &str, limit: u32) -> String {
    let select = format!(
        "SELECT {address} FROM {table} WHERE consumer = $1 AND {time} < {cut_off}
         ORDER BY {time} LIMIT {limit} {skip_locked}",
        address = dialect.row_address(),
        cut_off = dialect.millis_ago("$2"),
        limit = limit.max(1),
        skip_locked = dialect.skip_locked(table),
    );
    let (address, among) = (dialect.row_address(), dialect.among_select(&select));
    format!("DELETE FROM {table} WHERE {address} {among}")
}

/// An outage is the consumer's to report, once for the process. Anything else needs a person.
fn note(error: &DbErr) {
    if Failure::of(error).is_transient() {
        tracing::debug!(%error, "the inbox was not cleaned up, trying again");
    } else {
        tracing::warn!("the inbox was not cleaned up, trying again: {error}");
    }
}

#[cfg(test)]
mod tests {
    use test_kit::{Backing, Storage, connect};

    use super::*;

    /// How the database carries out the removal of what "short" has processed, while a hundred times
    /// as much of "long" is there. Nothing was analysed.
    async fn plan(backing: Backing) -> String {
        let storage = Storage::new(backing);
        let url = storage.create_database("inbox").await.expect("a database");
        let db = connect(&url).expect("a pool");
        crate::schema::up(&db).await.expect("tables");
        let dialect = Dialect::of(&db);
        let insert = format!(
            "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 5050)
             INSERT INTO inbox_messages (consumer, message_id, payload_hash, processed_at)
             SELECT CASE WHEN n % 101 = 0 THEN 'short' ELSE 'long' END, CAST(n AS text), '', {}
             FROM numbers",
            dialect.millis_ago("10 * 24 * 3600 * 1000"),
        );
        db.execute_unprepared(&insert).await.expect("rows");
        let (explain, column) = match dialect {
            Dialect::Sqlite => ("EXPLAIN QUERY PLAN", "detail"),
            Dialect::Postgres => ("EXPLAIN (ANALYZE, TIMING OFF)", "QUERY PLAN"),
        };
        let values = [Value::from("short"), Value::from(1_000_i64)];
        let statement = dialect.statement(
            format!("{explain} {}", removal(dialect, "inbox_messages", "processed_at", 10)),
            values,
        );
        let lines = db.query_all_raw(statement).await.expect("a plan");
        let lines: Vec<String> =
            lines.iter().map(|line| line.try_get("", column).expect("a line")).collect();
        lines.join("\n")
    }

    #[tokio::test]
    async fn on_postgres_the_cleaning_reads_no_rows_of_other_consumers_and_joins_nothing() {
        let plan = plan(Backing::Servers).await;
        for part in ["Tid Scan on inbox_messages", " inbox_messages_processed"] {
            assert!(plan.contains(part), "{part}: {plan}");
        }
        for part in ["Seq Scan", "Join", "Rows Removed by Filter"] {
            assert!(!plan.contains(part), "{part}: {plan}");
        }
    }

    #[tokio::test]
    async fn on_sqlite_the_cleaning_reads_no_rows_of_other_consumers() {
        let plan = plan(Backing::Embedded).await;
        let index = "inbox_messages_processed (consumer=? AND processed_at<?)";
        assert!(plan.contains(index), "{plan}");
        assert!(!plan.contains("SCAN inbox_messages") && !plan.contains("B-TREE"), "{plan}");
    }
}
