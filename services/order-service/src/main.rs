//! The order service.

use std::process::ExitCode;

use clap::Parser;
use service_kit::program;

/// Takes orders over HTTP and tells others about them through its outbox
#[derive(Debug, Parser)]
#[command(version)]
struct Program {
    #[command(flatten)]
    invocation: order_service::Invocation,
}

fn main() -> ExitCode {
    let program: Program = program::settings();
    program.invocation.run(order_service::run)
}
