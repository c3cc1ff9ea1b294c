//! Brings one database up to date, then exits.

use std::process::ExitCode;

use clap::Parser;
use migrations::MigrateSettings;
use service_kit::settings::LogSettings;
use service_kit::{program, telemetry};

/// Creates or updates the tables of one database, then exits
#[derive(Debug, Parser)]
#[command(version)]
struct Settings {
    #[command(flatten)]
    migrate: MigrateSettings,
    #[command(flatten)]
    log: LogSettings,
}

fn main() -> ExitCode {
    let settings: Settings = program::settings();
    program::run(async {
        telemetry::start(&settings.log, "migrate")?;
        migrations::run(&settings.migrate).await?;
        tracing::info!("{:?} is up to date", settings.migrate.database);
        Ok(())
    })
}
