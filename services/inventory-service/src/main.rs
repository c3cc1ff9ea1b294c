//! The inventory service.

use std::process::ExitCode;

use clap::Parser;
use service_kit::program;

/// Reserves stock for orders, each message with effect once
#[derive(Debug, Parser)]
#[command(version)]
struct Program {
    #[command(flatten)]
    settings: inventory_service::Settings,
}

fn main() -> ExitCode {
    let program: Program = program::settings();
    program::run(inventory_service::run(program.settings))
}
