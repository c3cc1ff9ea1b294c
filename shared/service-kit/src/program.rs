//! The frame of a `main`: read the settings, run until told to stop, end with one clear line.

use std::future::Future;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use clap::error::ErrorKind;
use tokio::io::AsyncReadExt;
use tokio_util::sync::CancellationToken;

use crate::settings::LifeSettings;

/// Reads the settings from flags and environment. An invalid one ends the process with one line
/// that names it.
#[must_use]
pub fn settings<S: Parser>() -> S {
    S::try_parse().unwrap_or_else(|error| refuse(&error))
}

/// The same from the environment alone.
#[must_use]
pub fn environment<S: Parser>() -> S {
    S::try_parse_from([env!("CARGO_PKG_NAME")]).unwrap_or_else(|error| refuse(&error))
}

fn refuse(error: &clap::Error) -> ! {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => error.exit(),
        _ => {
            eprintln!("{}", one_line(&error.to_string()));
            std::process::exit(2);
        }
    }
}

/// The message without the usage that clap puts under it.
fn one_line(text: &str) -> String {
    let message = text.split("\n\n").next().unwrap_or(text);
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs a program to its end on a runtime of its own. An error becomes one line and exit code 1.
pub fn run<F>(program: F) -> ExitCode
where
    F: Future<Output = anyhow::Result<()>>,
{
    run_for_exit_code(async { program.await.map(|()| ExitCode::SUCCESS) })
}

/// The same for a program whose answer is its exit code.
pub fn run_for_exit_code<F>(program: F) -> ExitCode
where
    F: Future<Output = anyhow::Result<ExitCode>>,
{
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: no runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    let result = runtime.block_on(program);
    // A thread that reads standard input can't be stopped: don't wait for it.
    runtime.shutdown_timeout(Duration::from_millis(100));
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {}", format!("{error:#}").replace('\n', " "));
            ExitCode::FAILURE
        }
    }
}

/// Prints a line. A reader that went away (`| head`) is no error.
///
/// # Errors
/// Standard output can't be written to.
pub fn print(line: &str) -> anyhow::Result<()> {
    match writeln!(std::io::stdout(), "{line}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// A token that is cancelled by SIGINT, by SIGTERM and, if the settings say so, by the end of
/// standard input.
#[must_use]
pub fn shutdown_token(settings: &LifeSettings) -> CancellationToken {
    let token = CancellationToken::new();
    let (stop, with_stdin) = (token.clone(), settings.stop_with_stdin);
    tokio::spawn(async move {
        tokio::select! {
            () = signal() => {}
            () = stdin_ends(), if with_stdin => {}
        }
        stop.cancel();
    });
    token
}

#[cfg(unix)]
async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        },
        Err(_) => {
            let _ = tokio::signal::ctrl_c().await;
        }
    }
}

#[cfg(not(unix))]
async fn signal() {
    let _ = tokio::signal::ctrl_c().await;
}

async fn stdin_ends() {
    let mut buffer = [0; 64];
    let mut stdin = tokio::io::stdin();
    while matches!(stdin.read(&mut buffer).await, Ok(read) if read > 0) {}
}
