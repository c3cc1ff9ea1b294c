//! Where the processes report each crash point that they pass, and wait for the word to go on.

use std::sync::{Arc, Mutex, PoisonError};

use mistakes::Mistakes;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::crew::Crew;
use crate::recorder::Recorder;
use crate::scenario::{Arm, Then};
use crate::trace::{Source, Step};
use crate::work::AtWork;

/// The point that is passed again and again by who never gives up.
const TRYING: &str = "once-more";

/// Points that are no steps: they only tell that a publish is under way of which nobody wants to hear.
const UNHEARD: [&str; 2] = ["unheard-publish", "unheard-answer"];

/// What a process says.
#[derive(Debug, Deserialize)]
struct Report {
    process: String,
    points: Vec<String>,
    file: String,
    line: u32,
}

/// Points that are watched, and processes that wait.
pub(crate) struct Gate {
    armed: Mutex<Vec<Armed>>,
    /// How many of the armed points were reached since the last look.
    hits: watch::Sender<u32>,
    /// Raised by one, it lets everyone go who waits.
    releases: watch::Sender<u32>,
    held: watch::Sender<u32>,
    pub(crate) at_work: AtWork,
}

struct Armed {
    processes: Vec<String>,
    points: Vec<String>,
    then: Then,
}

impl Gate {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            armed: Mutex::default(),
            hits: watch::Sender::new(0),
            releases: watch::Sender::new(0),
            held: watch::Sender::new(0),
            at_work: AtWork::default(),
        })
    }

    /// Takes an address, before anybody is told of it.
    pub(crate) async fn listen(&self) -> std::io::Result<(String, TcpListener)> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        Ok((listener.local_addr()?.to_string(), listener))
    }

    /// Answers until the set is dropped.
    pub(crate) fn open(
        self: &Arc<Self>,
        listener: TcpListener,
        recorder: &Arc<Recorder>,
        crew: &Arc<Crew>,
    ) -> JoinSet<()> {
        let (gate, recorder, crew) = (self.clone(), recorder.clone(), crew.clone());
        let mut listening = JoinSet::new();
        listening.spawn(async move {
            let mut visitors = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (gate, recorder, crew) = (gate.clone(), recorder.clone(), crew.clone());
                visitors.spawn(async move { gate.receive(stream, &recorder, &crew).await });
            }
        });
        listening
    }

    pub(crate) fn arm(&self, arm: &Arm, mistakes: &Mistakes) {
        let (processes, points) = (arm.processes.clone(), arm.points_with(mistakes));
        self.armed().push(Armed { processes, points, then: arm.then });
    }

    /// Forgets what was armed and what was reached.
    pub(crate) fn disarm(&self) {
        self.armed().clear();
        self.hits.send_replace(0);
    }

    pub(crate) fn was_hit(&self) -> bool {
        *self.hits.borrow() > 0
    }

    pub(crate) fn release(&self) {
        self.releases.send_modify(|releases| *releases += 1);
    }

    pub(crate) fn holds_somebody(&self) -> bool {
        *self.held.borrow() > 0
    }

    async fn receive(&self, stream: TcpStream, recorder: &Recorder, crew: &Crew) {
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        if stream.read_line(&mut line).await.is_err() {
            return;
        }
        let Ok(report) = serde_json::from_str::<Report>(&line) else {
            return;
        };
        let point = point_of(&report);
        self.at_work.note(&report.process, &point);
        if point == TRYING || UNHEARD.contains(&point.as_str()) {
            if point == TRYING {
                recorder.note_try();
            }
            let _ = stream.get_mut().write_all(b"go\n").await;
            return;
        }
        let then = self.take_armed(&report.process, &point);
        let step = Step {
            actor: report.process.clone(),
            point: Some(point),
            source: Some(Source { file: report.file, line: report.line }),
            ..Step::default()
        };
        match then {
            Some(Then::Kill) => {
                recorder.record("passed", step.clone()).await;
                crew.kill(&report.process).await;
                self.at_work.forget(&report.process);
                recorder.record("killed", step).await;
                self.hits.send_modify(|hits| *hits += 1);
                return; // nobody is left who would wait for an answer
            }
            Some(Then::Hold) => self.hold(recorder, crew, step).await,
            Some(Then::Note) => {
                recorder.record("passed", step).await;
                self.hits.send_modify(|hits| *hits += 1);
            }
            None => recorder.record("passed", step).await,
        }
        let _ = stream.get_mut().write_all(b"go\n").await;
    }

    async fn hold(&self, recorder: &Recorder, crew: &Crew, step: Step) {
        let mut releases = self.releases.subscribe();
        releases.mark_unchanged();
        self.held.send_modify(|held| *held += 1);
        crew.note(&step.actor, "held");
        recorder.record("held", step.clone()).await;
        self.hits.send_modify(|hits| *hits += 1);
        let _ = releases.changed().await;
        self.held.send_modify(|held| *held -= 1);
        crew.note(&step.actor, "running");
        recorder.record("released", step).await;
    }

    fn take_armed(&self, process: &str, point: &str) -> Option<Then> {
        let mut armed = self.armed();
        let is_it = |armed: &Armed| {
            armed.processes.iter().any(|it| it == process)
                && armed.points.iter().any(|it| it == point)
        };
        let found = armed.iter().position(is_it)?;
        Some(armed.remove(found).then)
    }

    fn armed(&self) -> std::sync::MutexGuard<'_, Vec<Armed>> {
        self.armed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in a library has one name for each service that runs through it.
fn point_of(report: &Report) -> String {
    let of_orders = report.process == "order-service";
    let name = match of_orders {
        true => report.points.last(),
        false => report.points.first(),
    };
    name.cloned().unwrap_or_default()
}
