use std::time::Duration;

use anyhow::Context;
use backon::{BackoffBuilder, ExponentialBuilder};
use clap::{Args, ValueEnum};
use database::MigrationLock;
use sea_orm_migration::MigratorTrait;
use sea_orm_migration::sea_orm::DatabaseConnection;
use service_kit::settings::{DatabaseSettings, LogSettings};
use service_kit::telemetry;
use transport::Link;

use crate::{inventory, orders};

/// Whose tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Database {
    /// The order service's.
    Orders,
    /// The inventory service's, with its first stock.
    Inventory,
}

/// Settings of the program `migrate`.
#[derive(Debug, Clone, Args)]
pub struct MigrateSettings {
    /// Which tables DATABASE_URL gets
    #[arg(value_enum)]
    pub database: Database,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub connection: DatabaseSettings,

    /// How long to wait for a database that does not answer yet
    #[arg(long, env, default_value = "60s", value_parser = service_kit::settings::duration)]
    pub migrate_wait: Duration,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub log: LogSettings,
}

/// Waits for the database and brings it up to date. Any number of these may run at once.
///
/// # Errors
/// The database can't be reached in time, or a migration failed.
pub async fn run(settings: MigrateSettings) -> anyhow::Result<()> {
    telemetry::start(&settings.log, "migrate")?;
    let db = settings.connection.pool("migrate")?;
    wait_for(&db, Some(settings.migrate_wait)).await?;
    up(&db, settings.database).await?;
    tracing::info!("the tables of {:?} are up to date", settings.database);
    Ok(())
}

/// Brings a database up to date: all migrations that it lacks, by one migrator at a time.
///
/// # Errors
/// A migration failed.
pub async fn up(db: &DatabaseConnection, database: Database) -> anyhow::Result<()> {
    let _only_one = MigrationLock::acquire(db).await?;
    let db = MigrationLock::unlimited(db);
    match database {
        Database::Orders => orders::Migrator::up(&db, None).await,
        Database::Inventory => inventory::Migrator::up(&db, None).await,
    }
    .context("migration failed")
}

/// Takes everything back, data included.
///
/// # Errors
/// A migration failed.
pub async fn down(db: &DatabaseConnection, database: Database) -> anyhow::Result<()> {
    let _only_one = MigrationLock::acquire(db).await?;
    let db = MigrationLock::unlimited(db);
    match database {
        Database::Orders => orders::Migrator::down(&db, None).await,
        Database::Inventory => inventory::Migrator::down(&db, None).await,
    }
    .context("migration failed")
}

/// Waits until the database answers, for ever unless there is a `limit`. Says so in one log line.
///
/// # Errors
/// It did not answer within the limit.
pub async fn wait_for(db: &DatabaseConnection, limit: Option<Duration>) -> anyhow::Result<()> {
    let mut link = Link::new("database");
    let delays = ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(100))
        .with_max_delay(Duration::from_secs(2))
        .with_total_delay(limit)
        .without_max_times()
        .build();
    for delay in delays {
        match database::ping(db).await {
            Ok(()) => {
                link.up();
                return Ok(());
            }
            Err(error) => link.down(&error),
        }
        tokio::time::sleep(delay).await;
    }
    let seconds = limit.unwrap_or_default().as_secs();
    database::ping(db).await.with_context(|| format!("DATABASE_URL: no answer within {seconds} s"))
}
