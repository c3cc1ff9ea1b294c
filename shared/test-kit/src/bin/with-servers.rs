//! Runs a command with PostgreSQL and RabbitMQ beside it: `with-servers COMMAND [ARGUMENT…]`.

use std::process::ExitCode;

use anyhow::Context;
use tokio::process::Command;

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let program = arguments.next().context("usage: with-servers COMMAND [ARGUMENT…]")?;
    let (servers, _postgres, _rabbitmq) = test_kit::start_servers().await?;
    let mut command = Command::new(&program);
    command.args(arguments).envs(servers.environment());
    let mut child = command.spawn().with_context(|| format!("starting {}", program.display()))?;
    // Ctrl-C reaches the command too. Wait for its end, so that the containers go last.
    let status = loop {
        tokio::select! {
            status = child.wait() => break status?,
            _ = tokio::signal::ctrl_c() => {}
        }
    };
    Ok(match status.code() {
        Some(0) => ExitCode::SUCCESS,
        Some(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        None => ExitCode::FAILURE,
    })
}
