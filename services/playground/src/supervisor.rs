//! Starts processes, keeps them running, and does to them what people ask for.

mod child;
mod keeper;

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Context;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::process_view::{Control, ProcessView, Refusal};
use crate::shop::Part;
use child::{Child, Run};
use keeper::{Asked, Keeper};

/// Runs the parts until `shutdown`, then stops them and waits for their end.
pub(crate) struct Supervisor {
    tasks: JoinSet<anyhow::Result<()>>,
    views: Vec<watch::Receiver<ProcessView>>,
    controls: Controls,
}

/// The way to the processes, by their ids.
#[derive(Clone, Default)]
pub(crate) struct Controls(Arc<HashMap<&'static str, mpsc::Sender<Asked>>>);

impl Supervisor {
    /// Starts all parts.
    pub(crate) fn start(parts: Vec<Part>, shutdown: &CancellationToken) -> anyhow::Result<Self> {
        let (mut tasks, mut views, mut controls) = (JoinSet::new(), Vec::new(), HashMap::new());
        for part in parts {
            let child = Child::spawn(&part, Run::First)
                .with_context(|| format!("starting {}", part.name))?;
            let (control, asked) = mpsc::channel(1);
            controls.insert(part.id, control);
            let keeper = Keeper::new(part, child, asked);
            views.push(keeper.view());
            tasks.spawn(keeper.run(shutdown.clone()));
        }
        Ok(Self { tasks, views, controls: Controls(Arc::new(controls)) })
    }

    pub(crate) fn views(&self) -> Vec<watch::Receiver<ProcessView>> {
        self.views.clone()
    }

    pub(crate) fn controls(&self) -> Controls {
        self.controls.clone()
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

impl Controls {
    /// Does it to the process with this id. `None`: there is no such process.
    pub(crate) async fn ask(&self, id: &str, control: Control) -> Option<Result<(), Refusal>> {
        let keeper = self.0.get(id)?;
        let (answer, answered) = oneshot::channel();
        if keeper.send(Asked { control, answer }).await.is_err() {
            return Some(Err(Refusal::Closing));
        }
        Some(answered.await.unwrap_or(Err(Refusal::Closing)))
    }
}
