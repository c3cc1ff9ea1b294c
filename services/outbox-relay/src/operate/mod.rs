//! The subcommands: what `/admin/outbox` does, on the database alone. No broker, no running relay.

mod dead;
mod print;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use database::Failure;
use sea_orm::{DatabaseConnection, DbErr};
use service_kit::healthcheck::Healthcheck;
use service_kit::program;
use service_kit::settings::DatabaseSettings;

pub use dead::Dead;

use crate::cleanup::{Cleanup, cleanup};
use crate::settings::PORT;

/// One look or action of a person
#[derive(Debug, Clone, Subcommand)]
pub enum Operation {
    /// Looks at messages, retries or discards dead ones
    #[command(subcommand)]
    Dead(Dead),
    /// Shows how many messages wait, are sent, dead, or blocked by a dead one
    Stats(Target),
    /// Cleans up the outbox once, now
    Cleanup(Cleanup),
    /// Asks whether the relay that runs beside this one, by the same HTTP_ADDR, is ready
    Healthcheck(Healthcheck<PORT>),
}

/// Which outbox, and for whom the answer is
#[derive(Debug, Clone, Args)]
pub struct Target {
    #[command(flatten)]
    #[allow(missing_docs, reason = "the group documents itself")]
    pub database: DatabaseSettings,

    /// Answer in JSON, as the HTTP calls do
    #[arg(long)]
    pub json: bool,
}

impl Target {
    fn open(&self) -> anyhow::Result<DatabaseConnection> {
        self.database.pool("outbox-relay-command")
    }
}

/// Carries it out and prints the answer. If it can't be done, one line says why.
#[must_use]
pub fn operate(operation: Operation) -> ExitCode {
    match operation {
        Operation::Dead(dead) => program::run(dead::run(dead)),
        Operation::Stats(target) => program::run(stats(target)),
        Operation::Cleanup(command) => {
            program::run(async { program::print(&cleanup(command).await?) })
        }
        Operation::Healthcheck(check) => check.run(),
    }
}

async fn stats(target: Target) -> anyhow::Result<()> {
    let stats = outbox::dead_letters::stats(&target.open()?).await;
    print::stats(&stats.map_err(database_error)?, target.json)
}

/// The same words for the same trouble, whatever the command.
fn database_error(error: DbErr) -> anyhow::Error {
    match Failure::of(&error) {
        Failure::SchemaMissing => {
            anyhow::anyhow!("DATABASE_URL: there is no outbox in it; run the migrations first")
        }
        Failure::Unavailable | Failure::Contention => {
            anyhow::anyhow!("DATABASE_URL: the database does not answer, try again: {error}")
        }
        Failure::Duplicate | Failure::Permanent => anyhow::anyhow!("DATABASE_URL: {error}"),
    }
}
