use anyhow::Context;
use database::DayWindow;
use outbox::{Cleaned, Cleaner, RetentionMode, RetentionOptions};
use service_kit::telemetry;

use crate::Settings;

/// Cleans up the outbox once, now, and says on standard output what came of it. With `dry_run` it
/// only counts. A person who asks for it means now: the window of the day does not hold.
///
/// # Errors
/// The database is away, or another cleaner is at work.
pub async fn cleanup(settings: Settings, dry_run: bool) -> anyhow::Result<()> {
    telemetry::start(&settings.log, "cleanup")?;
    let name = format!("outbox-relay-cleanup-{}", std::process::id());
    let db = settings.database.pool(&name)?;
    let options =
        RetentionOptions { window: DayWindow::Always, ..settings.retention_options(name) };
    let (verb, count) = if dry_run {
        let count = outbox::count_removable(&db, options.retention).await;
        ("Would clean up", count.context("DATABASE_URL")?)
    } else {
        let cleaner = Cleaner::new(db, options.clone()).context("retention settings")?;
        match cleaner.run_once().await.context("DATABASE_URL")? {
            Cleaned::Removed(count) => ("Cleaned up", count),
            Cleaned::Elsewhere | Cleaned::NotNow => {
                anyhow::bail!("another process is cleaning up this outbox; try again in a minute")
            }
        }
    };
    let what = match options.mode {
        RetentionMode::Delete => "deleted",
        RetentionMode::Archive => "archived",
    };
    let age = humantime::format_duration(options.retention);
    println!("{verb} {count} processed outbox messages ({what}; sent more than {age} ago)");
    Ok(())
}
