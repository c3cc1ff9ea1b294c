//! The outbox relay.

use std::process::ExitCode;

use clap::Parser;
use service_kit::program;

/// Moves the outbox of one database to the broker
#[derive(Debug, Parser)]
#[command(version)]
struct Program {
    #[command(flatten)]
    invocation: outbox_relay::Invocation,
}

fn main() -> ExitCode {
    let program: Program = program::settings();
    outbox_relay::run(program.invocation)
}
