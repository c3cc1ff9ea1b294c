//! The processes of a run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};

/// How long a process may take until it is ready.
const START: Duration = Duration::from_secs(30);

/// What each process is doing, as the trace shows it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Roll(Arc<Mutex<BTreeMap<String, String>>>);

impl Roll {
    pub(crate) fn states(&self) -> BTreeMap<String, String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, process: &str, state: &str) {
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        states.insert(process.to_owned(), state.to_owned());
    }
}

/// Starts and kills processes.
pub(crate) struct Crew {
    program: PathBuf,
    environment: Environment,
    roll: Roll,
    running: tokio::sync::Mutex<BTreeMap<String, Running>>,
    client: reqwest::Client,
}

/// What each process is told.
pub(crate) struct Environment {
    pub(crate) orders_url: String,
    pub(crate) inventory_url: String,
    /// For all of them.
    pub(crate) common: Vec<(String, String)>,
    /// For those on the way of an order: not for the relay of the replies.
    pub(crate) experiment: Vec<(String, String)>,
}

struct Running {
    child: Child,
    url: String,
}

impl Crew {
    pub(crate) fn new(program: PathBuf, environment: Environment, roll: Roll) -> Self {
        let client = reqwest::Client::new();
        Self { program, environment, roll, running: tokio::sync::Mutex::default(), client }
    }

    /// Starts a process and waits until it is ready.
    pub(crate) async fn start(&self, process: &str) -> anyhow::Result<()> {
        let mut child = self.spawn(process).with_context(|| format!("starting {process}"))?;
        let stderr = child.stderr.take().context("a pipe")?;
        let url = tokio::time::timeout(START, address(process, stderr))
            .await
            .with_context(|| format!("{process} does not listen"))??;
        self.running.lock().await.insert(process.to_owned(), Running { child, url: url.clone() });
        tokio::time::timeout(START, self.ready(&url))
            .await
            .with_context(|| format!("{process} is not ready"))?;
        self.note(process, "running");
        Ok(())
    }

    /// Starts those that do not run.
    pub(crate) async fn start_missing(&self, processes: &[String]) -> anyhow::Result<Vec<String>> {
        let mut started = vec![];
        for process in processes {
            if self.url(process).await.is_none() {
                self.start(process).await?;
                started.push(process.clone());
            }
        }
        Ok(started)
    }

    /// `kill -9`.
    pub(crate) async fn kill(&self, process: &str) {
        if let Some(mut running) = self.running.lock().await.remove(process) {
            let _ = running.child.start_kill();
            let _ = running.child.wait().await;
            self.note(process, "killed");
        }
    }

    pub(crate) async fn kill_all(&self) {
        for (_, mut running) in std::mem::take(&mut *self.running.lock().await) {
            let _ = running.child.start_kill();
            let _ = running.child.wait().await;
        }
    }

    pub(crate) fn note(&self, process: &str, state: &str) {
        self.roll.set(process, state);
    }

    /// Where a process listens, if it runs.
    pub(crate) async fn url(&self, process: &str) -> Option<String> {
        self.running.lock().await.get(process).map(|running| running.url.clone())
    }

    async fn ready(&self, url: &str) {
        loop {
            let answer = self.client.get(format!("{url}/health/ready")).send().await;
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn spawn(&self, process: &str) -> std::io::Result<Child> {
        let told = &self.environment;
        let (program, database, app_id) = match process {
            "order-service" => ("order-service", &told.orders_url, "order-service"),
            "inventory-service" => ("inventory-service", &told.inventory_url, "inventory-service"),
            "inventory-relay" => ("outbox-relay", &told.inventory_url, "inventory-service"),
            _ => ("outbox-relay", &told.orders_url, "order-service"),
        };
        let mut command = Command::new(&self.program);
        command
            .args(["experiment", program])
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| name == "PATH" || name == "TMPDIR"))
            .env("DATABASE_URL", database)
            .env("RELAY_APP_ID", app_id)
            .env("LAB_PROCESS", process)
            .envs(told.common.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if process != "inventory-relay" {
            command.envs(told.experiment.iter().map(|(name, value)| (name, value)));
        }
        command.spawn()
    }
}

/// Reads a process's log: in it stands where it listens. The rest is read to its end, so that the
/// process can write it.
async fn address(process: &str, stderr: ChildStderr) -> anyhow::Result<String> {
    let mut lines = BufReader::new(stderr).lines();
    let mut log = Vec::new();
    while let Some(line) = lines.next_line().await? {
        if let Some((_, url)) = line.split_once(" listens on ") {
            let url = url.trim().to_owned();
            let process = process.to_owned();
            tokio::spawn(async move {
                while let Ok(Some(line)) = lines.next_line().await {
                    tracing::debug!("{process}: {line}");
                }
            });
            return Ok(url);
        }
        log.push(line);
    }
    anyhow::bail!("{process} ended: {}", log.join(" "))
}
