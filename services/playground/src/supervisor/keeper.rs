//! Keeps one process running.

use std::future::pending;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::child::{Child, Run};
use crate::process_view::{ChildView, Control, ProcessView, Refusal, State};
use crate::shop::Part;

/// A dead process is started again after this long: soon, but not in a busy loop.
const RESTART_DELAY: Duration = Duration::from_millis(200);

/// The exit code of a process that refuses its settings ([`service_kit::program::settings`]).
const INVALID_SETTINGS: i32 = 2;

/// How long a process may take to stop cleanly. A little more than a server's own limit.
const STOP_TIMEOUT: Duration = Duration::from_secs(12);

/// What somebody wants done, and who waits for the answer.
pub(crate) struct Asked {
    pub(super) control: Control,
    pub(super) answer: oneshot::Sender<Result<(), Refusal>>,
}

pub(super) struct Keeper {
    part: Part,
    /// `None`: it has ended, and will be started again.
    child: Option<Child>,
    state: State,
    restarts: u32,
    /// With a child: it was told to stop, and is killed then. Without one: it is started then.
    due: Option<Instant>,
    asked: mpsc::Receiver<Asked>,
    view: watch::Sender<ProcessView>,
}

/// What a keeper waits for.
enum Event {
    Ended(io::Result<ExitStatus>),
    Due,
    Asked(Asked),
}

impl Keeper {
    pub(super) fn new(part: Part, child: Child, asked: mpsc::Receiver<Asked>) -> Self {
        let view = watch::Sender::new(ProcessView {
            id: part.id,
            name: part.name,
            url: part.url().to_string(),
            state: State::Running,
            reason: None,
            child: Some(ChildView { pid: child.pid(), restarts: 0 }),
            can: controls(),
            command: None,
        });
        let (child, state) = (Some(child), State::Running);
        Self { part, child, state, restarts: 0, due: None, asked, view }
    }

    pub(super) fn view(&self) -> watch::Receiver<ProcessView> {
        self.view.subscribe()
    }

    pub(super) async fn run(mut self, shutdown: CancellationToken) -> anyhow::Result<()> {
        loop {
            let event = tokio::select! {
                () = shutdown.cancelled() => break,
                event = self.event() => event,
            };
            match event {
                Event::Ended(Ok(status)) if status.code() == Some(INVALID_SETTINGS) => {
                    shutdown.cancel(); // it has said why, and would say it for ever
                    anyhow::bail!("{} can't run with these settings", self.part.name);
                }
                Event::Ended(ended) => self.has_ended(ended),
                Event::Due => self.is_due(),
                Event::Asked(Asked { control, answer }) => {
                    let _ = answer.send(self.carry_out(control));
                }
            }
            self.show();
        }
        self.stop().await;
        Ok(())
    }

    async fn event(&mut self) -> Event {
        let ended = async {
            match &mut self.child {
                Some(child) => child.ended().await,
                None => pending().await,
            }
        };
        let due = async {
            match self.due {
                Some(time) => sleep_until(time).await,
                None => pending().await,
            }
        };
        tokio::select! {
            ended = ended => Event::Ended(ended),
            () = due => Event::Due,
            Some(asked) = self.asked.recv() => Event::Asked(asked),
        }
    }

    fn has_ended(&mut self, ended: io::Result<ExitStatus>) {
        let how = ended.map_or_else(|error| error.to_string(), describe);
        tracing::warn!("{} ended ({how}); starting it again", self.part.name);
        (self.child, self.state) = (None, State::Restarting);
        self.due = Some(Instant::now() + RESTART_DELAY);
    }

    fn is_due(&mut self) {
        self.due = None;
        if let Some(child) = &mut self.child {
            tracing::warn!("{} did not stop in time and is killed", self.part.name);
            let _ = child.kill();
            return;
        }
        match Child::spawn(&self.part, Run::Again) {
            Ok(child) => {
                (self.child, self.state) = (Some(child), State::Running);
                self.restarts += 1;
            }
            Err(error) => {
                tracing::warn!("{} could not be started: {error}", self.part.name);
                self.due = Some(Instant::now() + RESTART_DELAY);
            }
        }
    }

    fn carry_out(&mut self, control: Control) -> Result<(), Refusal> {
        let name = self.part.name;
        let (state, child) = match (&mut self.child, self.state, control) {
            (Some(child), State::Running | State::Frozen, Control::Kill) => {
                (State::Restarting, child.kill())
            }
            (Some(child), State::Running | State::Frozen, Control::Restart) => {
                child.ask_to_stop();
                self.due = Some(Instant::now() + STOP_TIMEOUT);
                (State::Restarting, Ok(()))
            }
            (Some(child), State::Running, Control::Freeze) => (State::Frozen, child.freeze()),
            (Some(child), State::Frozen, Control::Thaw) => (State::Running, child.thaw()),
            (_, state, _) => {
                return Err(Refusal::State { name, control, state: state.to_string() });
            }
        };
        child.map_err(|error| Refusal::System { name, control, reason: error.to_string() })?;
        self.state = state;
        Ok(())
    }

    fn show(&self) {
        // One that is about to end is no longer of interest by its id.
        let pid = (self.state != State::Restarting).then(|| self.child.as_ref()?.pid()).flatten();
        let child = Some(ChildView { pid, restarts: self.restarts });
        self.view.send_modify(|view| (view.state, view.child) = (self.state, child));
    }

    async fn stop(&mut self) {
        let Some(child) = &mut self.child else { return };
        let started = Instant::now();
        child.ask_to_stop();
        match timeout(STOP_TIMEOUT, child.ended()).await {
            Ok(_) => tracing::debug!("{} stopped after {:?}", self.part.name, started.elapsed()),
            Err(_) => {
                tracing::warn!("{} did not stop in time and is killed", self.part.name);
                let _ = child.kill();
                let _ = child.ended().await;
            }
        }
    }
}

/// What this system can do. Only Unix can hold a process still.
fn controls() -> Vec<Control> {
    let possible = |control: &Control| {
        cfg!(feature = "lab") && (cfg!(unix) || !matches!(control, Control::Freeze | Control::Thaw))
    };
    Control::ALL.into_iter().filter(possible).collect()
}

fn describe(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("signal {signal}");
    }
    status.to_string()
}
