use anyhow::Context;
use clap::Args;
use database::DayWindow;
use outbox::{Cleaned, Cleaner, RetentionMode, RetentionOptions};
use sea_orm::DatabaseConnection;
use service_kit::settings::DatabaseSettings;

use crate::settings::OutboxRetention;

/// Cleans up the outbox once, now
#[derive(Debug, Clone, Args)]
pub struct Cleanup {
    /// Only count
    #[arg(long)]
    pub dry_run: bool,

    #[command(flatten)]
    #[allow(missing_docs, reason = "the group documents itself")]
    pub database: DatabaseSettings,

    #[command(flatten)]
    #[allow(missing_docs, reason = "the group documents itself")]
    pub retention: OutboxRetention,
}

/// Cleans up the outbox once, now, and says what came of it. With `dry_run` it only counts. A person
/// who asks for it means now: the window of the day does not hold.
///
/// # Errors
/// The database is away, or another cleaner is at work.
pub(crate) async fn cleanup(command: Cleanup) -> anyhow::Result<String> {
    let name = format!("outbox-relay-cleanup-{}", std::process::id());
    let db = command.database.pool(&name)?;
    clean(&db, command.retention.options(name), command.dry_run).await
}

async fn clean(
    db: &DatabaseConnection,
    options: RetentionOptions,
    dry_run: bool,
) -> anyhow::Result<String> {
    let options = RetentionOptions { window: DayWindow::Always, ..options };
    let (mode, age) = (options.mode, humantime::format_duration(options.retention));
    let (verb, count) = if dry_run {
        let count = outbox::count_removable(db, options.retention).await;
        ("Would clean up", count.context("the outbox can't be read")?)
    } else {
        let cleaner = Cleaner::new(db.clone(), options).context("retention settings")?;
        match cleaner.run_once().await.context("the outbox can't be cleaned up")? {
            Cleaned::Removed(count) => ("Cleaned up", count),
            Cleaned::Elsewhere | Cleaned::NotNow => {
                anyhow::bail!("another process is cleaning up this outbox; try again in a minute")
            }
        }
    };
    let done = match mode {
        RetentionMode::Delete => "deleted",
        RetentionMode::Archive => "archived",
    };
    Ok(format!("{verb} {count} processed outbox messages ({done}; sent more than {age} ago)"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use outbox::NewMessage;
    use sea_orm::ConnectionTrait;
    use test_kit::{Backing, Storage, connect};

    use super::*;

    #[tokio::test]
    async fn a_dry_run_counts_and_removes_nothing_and_the_window_does_not_hold_on_sqlite() {
        a_dry_run_counts_and_removes_nothing(Backing::Embedded).await;
    }

    #[tokio::test]
    async fn a_dry_run_counts_and_removes_nothing_and_the_window_does_not_hold_on_postgres() {
        a_dry_run_counts_and_removes_nothing(Backing::Servers).await;
    }

    async fn a_dry_run_counts_and_removes_nothing(backing: Backing) {
        let storage = Storage::new(backing);
        let db = connect(&storage.create_database("outbox").await.expect("a database"));
        let db = db.expect("a pool");
        outbox::schema::up(&db).await.expect("tables");
        let tx = database::begin_write(&db).await.expect("a transaction");
        for version in [1, 2] {
            let message = NewMessage::new("order", "a", version, "OrderPlaced", &version);
            outbox::append(&tx, message.expect("JSON")).await.expect("appended");
        }
        tx.commit().await.expect("committed");
        let sent =
            "UPDATE outbox_messages SET status = 'Sent', sent_at = '2000-01-01T00:00:00+00:00'
                    WHERE aggregate_version = 1";
        db.execute_unprepared(sent).await.expect("sent");
        let options = RetentionOptions {
            retention: Duration::from_secs(24 * 3600),
            mode: RetentionMode::Archive,
            window: closed_window(&db).await,
            ..RetentionOptions::default()
        };
        let clean = async |dry_run| clean(&db, options.clone(), dry_run).await.expect("cleaned");

        let would =
            "Would clean up 1 processed outbox messages (archived; sent more than 1day ago)";
        assert_eq!(clean(true).await, would);
        assert_eq!(clean(true).await, would, "a dry run changes nothing");
        let did = "Cleaned up 1 processed outbox messages (archived; sent more than 1day ago)";
        assert_eq!(clean(false).await, did);
        assert_eq!(outbox::counts(&db).await.expect("counts").pending, 1);
    }

    async fn closed_window(db: &DatabaseConnection) -> DayWindow {
        for text in ["00:00-12:00", "12:00-00:00"].into_iter().cycle() {
            let window: DayWindow = text.parse().expect("a window");
            if !window.is_open(db).await.expect("an answer") {
                return window;
            }
        }
        unreachable!("one half of the day is always closed")
    }
}
