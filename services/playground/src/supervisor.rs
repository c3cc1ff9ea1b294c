//! Starts processes and keeps them running.

use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::process_view::{ChildView, ProcessView, State};
use crate::shop::Part;

/// A dead process is started again after this long: soon, but not in a busy loop.
const RESTART_DELAY: Duration = Duration::from_millis(200);

/// The exit code of a process that refuses its settings ([`service_kit::program::settings`]).
const INVALID_SETTINGS: i32 = 2;

/// How long a process may take to stop cleanly. A little more than a server's own limit.
const STOP_TIMEOUT: Duration = Duration::from_secs(12);

/// Runs the parts until `shutdown`, then stops them and waits for their end.
pub(crate) struct Supervisor {
    tasks: JoinSet<anyhow::Result<()>>,
    views: Vec<watch::Receiver<ProcessView>>,
}

impl Supervisor {
    /// Starts all parts.
    pub(crate) fn start(parts: Vec<Part>, shutdown: &CancellationToken) -> anyhow::Result<Self> {
        let mut supervisor = Self { tasks: JoinSet::new(), views: Vec::new() };
        for part in parts {
            let child =
                spawn(&part, Run::First).with_context(|| format!("starting {}", part.name))?;
            let view = watch::Sender::new(ProcessView {
                name: part.name,
                url: part.url().to_string(),
                state: State::Running,
                reason: None,
                child: Some(ChildView { pid: child.process.id(), restarts: 0 }),
            });
            supervisor.views.push(view.subscribe());
            supervisor.tasks.spawn(keep_running(part, child, view, shutdown.clone()));
        }
        Ok(supervisor)
    }

    pub(crate) fn views(&self) -> Vec<watch::Receiver<ProcessView>> {
        self.views.clone()
    }

    /// Waits until every process has ended.
    ///
    /// # Errors
    /// One of them can't run with the settings that it has.
    pub(crate) async fn stopped(mut self) -> anyhow::Result<()> {
        let mut result = Ok(());
        while let Some(ended) = self.tasks.join_next().await {
            result = result.and(ended.unwrap_or_else(|panic| Err(panic.into())));
        }
        result
    }
}

/// A child process and the pipe that keeps it running. The pipe is held apart from the process,
/// whose `wait` would close it.
struct Running {
    process: Child,
    stdin: Option<ChildStdin>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Run {
    First,
    Again,
}

async fn keep_running(
    part: Part,
    mut child: Running,
    view: watch::Sender<ProcessView>,
    shutdown: CancellationToken,
) -> anyhow::Result<()> {
    let mut restarts = 0;
    loop {
        let ended = tokio::select! {
            () = shutdown.cancelled() => return stop(&part, child).await,
            ended = child.process.wait() => ended,
        };
        if ended.as_ref().is_ok_and(|status| status.code() == Some(INVALID_SETTINGS)) {
            shutdown.cancel(); // it has said why, and would say it for ever
            anyhow::bail!("{} can't run with these settings", part.name);
        }
        let gone = Some(ChildView { pid: None, restarts });
        view.send_modify(|view| (view.state, view.child) = (State::Restarting, gone));
        let how = ended.map_or_else(|error| error.to_string(), describe);
        tracing::warn!("{} ended ({how}); starting it again", part.name);
        child = loop {
            tokio::select! {
                () = shutdown.cancelled() => return Ok(()),
                () = tokio::time::sleep(RESTART_DELAY) => {}
            }
            match spawn(&part, Run::Again) {
                Ok(child) => break child,
                Err(error) => tracing::warn!("{} could not be started: {error}", part.name),
            }
        };
        restarts += 1;
        let again = Some(ChildView { pid: child.process.id(), restarts });
        view.send_modify(|view| (view.state, view.child) = (State::Running, again));
    }
}

/// This binary again, in a process group of its own: Ctrl-C in the terminal reaches only us, and we
/// stop the others in an orderly way. Its standard input is a pipe from us: when we die, however
/// that happens, the pipe ends, and so does the child.
fn spawn(part: &Part, run: Run) -> std::io::Result<Running> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .arg(part.subcommand)
        .envs(part.environment.iter().map(|(key, value)| (key, value)))
        .stdin(Stdio::piped())
        .kill_on_drop(true);
    if run == Run::Again {
        command.env_remove("CRASH_AT"); // armed for the first run only: else it would crash for ever
    }
    // Ours, not theirs: they would read it too.
    command.env_remove("SHOP_DATA").env_remove("SHOP_PORT_BASE");
    // They are told the secrets themselves.
    for file in ["DATABASE_PASSWORD_FILE", "BROKER_PASSWORD_FILE", "ADMIN_TOKEN_FILE"] {
        command.env_remove(file);
    }
    #[cfg(unix)]
    command.process_group(0);
    let mut process = command.spawn()?;
    let stdin = process.stdin.take();
    Ok(Running { process, stdin })
}

/// Closing its input asks the child to stop.
async fn stop(part: &Part, mut child: Running) -> anyhow::Result<()> {
    let started = Instant::now();
    drop(child.stdin);
    match tokio::time::timeout(STOP_TIMEOUT, child.process.wait()).await {
        Ok(_) => tracing::debug!("{} stopped after {:?}", part.name, started.elapsed()),
        Err(_) => {
            tracing::warn!("{} did not stop in time and is killed", part.name);
            let _ = child.process.kill().await;
        }
    }
    Ok(())
}

fn describe(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("signal {signal}");
    }
    status.to_string()
}
