//! The tasks that a process runs beside its HTTP server. They live and die together: a service that
//! goes on serving without its consumer looks healthy and does half of its job.

use std::io;

use anyhow::{Context, anyhow};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

/// Tasks that run until `shutdown`.
pub struct Tasks {
    shutdown: CancellationToken,
    running: JoinSet<(&'static str, Result<(), JoinError>)>,
}

impl Tasks {
    /// None yet.
    #[must_use]
    pub fn new(shutdown: CancellationToken) -> Self {
        Self { shutdown, running: JoinSet::new() }
    }

    /// Starts one. `name` is how the line about its end names it.
    pub fn start(&mut self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.running.spawn(async move { (name, tokio::spawn(task).await) });
    }

    /// Serves until `shutdown` and waits for the tasks. When one of them ends before that, or the
    /// server fails, everything is shut down: whoever supervises the process starts it again.
    ///
    /// # Errors
    /// Which task has ended too early, and why; or the server's error.
    pub async fn beside(self, server: impl Future<Output = io::Result<()>>) -> anyhow::Result<()> {
        let Self { shutdown, mut running } = self;
        let serving = async {
            let served = server.await;
            shutdown.cancel();
            served
        };
        let watching = async {
            let mut ended = Ok(());
            while let Some(task) = running.join_next().await {
                ended = ended.and(outcome(task, &shutdown));
                shutdown.cancel();
            }
            ended
        };
        let (served, ended) = tokio::join!(serving, watching);
        ended.and(served.context("HTTP server"))
    }
}

fn outcome(
    ended: Result<(&'static str, Result<(), JoinError>), JoinError>,
    shutdown: &CancellationToken,
) -> anyhow::Result<()> {
    let (name, ended) = ended.context("a task")?;
    match ended {
        Err(error) => Err(anyhow!("the {name} ended by itself: {error}")),
        Ok(()) if shutdown.is_cancelled() => Ok(()),
        Ok(()) => Err(anyhow!("the {name} ended by itself")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn until(shutdown: CancellationToken) -> io::Result<()> {
        shutdown.cancelled().await;
        Ok(())
    }

    #[tokio::test]
    async fn a_task_that_ends_too_early_ends_the_server_and_its_neighbours_with_an_error() {
        for panics in [true, false] {
            let shutdown = CancellationToken::new();
            let mut tasks = Tasks::new(shutdown.clone());
            tasks.start("cleaner", shutdown.clone().cancelled_owned());
            tasks.start("consumer", async move { assert!(!panics, "a test of a panic") });
            let error = tasks.beside(until(shutdown)).await.expect_err("an error").to_string();
            assert!(error.starts_with("the consumer ended by itself"), "{error}");
            assert_eq!(error.contains("a test of a panic"), panics, "{error}");
        }
    }

    #[tokio::test]
    async fn a_server_that_fails_ends_the_tasks() {
        let shutdown = CancellationToken::new();
        let mut tasks = Tasks::new(shutdown.clone());
        tasks.start("consumer", shutdown.cancelled_owned());
        let failed = async { Err(io::Error::other("no listener")) };
        let error = tasks.beside(failed).await.expect_err("an error");
        assert_eq!(format!("{error:#}"), "HTTP server: no listener");
    }

    #[tokio::test]
    async fn a_shutdown_as_told_is_no_error() {
        let shutdown = CancellationToken::new();
        let mut tasks = Tasks::new(shutdown.clone());
        tasks.start("consumer", shutdown.clone().cancelled_owned());
        shutdown.cancel();
        tasks.beside(until(shutdown)).await.expect("the end");
    }
}
