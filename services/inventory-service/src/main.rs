//! The inventory service.

use std::process::ExitCode;

use clap::Parser;
use service_kit::program;

/// Reserves stock for orders, each message with effect once
#[derive(Debug, Parser)]
#[command(version)]
struct Program {
    #[command(flatten)]
    invocation: inventory_service::Invocation,
}

fn main() -> ExitCode {
    let program: Program = program::settings();
    program.invocation.run(inventory_service::run)
}
