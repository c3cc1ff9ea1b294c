//! Brings one database up to date, then exits.

use std::process::ExitCode;

use clap::Parser;
use service_kit::program;

/// Creates or updates the tables of one database, then exits
#[derive(Debug, Parser)]
#[command(version)]
struct Program {
    #[command(flatten)]
    settings: migrations::MigrateSettings,
}

fn main() -> ExitCode {
    let program: Program = program::settings();
    program::run(migrations::run(program.settings))
}
