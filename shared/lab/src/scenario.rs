use std::collections::BTreeMap;

use mistakes::{Mistake, Mistakes};
use serde::{Deserialize, Serialize};

/// A failure: who does what until it has happened. The files are in `scenarios/`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Scenario {
    /// Its name in links, files and tests.
    pub id: String,
    /// Its numbers in the list of faults.
    #[serde(default)]
    pub faults: Vec<u32>,
    /// The crash points at which it strikes.
    #[serde(default)]
    pub points: Vec<String>,
    /// Further settings for all processes.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// What a run has to wait for, and so is made short.
    #[serde(default)]
    pub waits_for: Vec<WaitsFor>,
    /// The processes that run from the start.
    #[serde(default = "everyone")]
    pub start: Vec<String>,
    /// Whether the client asks again when it got no answer. In the end, when all is well again.
    #[serde(default = "yes")]
    pub client_retries: bool,
    /// What happens.
    pub steps: Vec<Step>,
}

/// Something that ends after a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitsFor {
    /// The claim of a relay that died.
    Lease,
    /// The queue in SQL: the delivery to a consumer that died.
    Visibility,
}

/// One step.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// The client wants this order, and does not wait here for the answer.
    Place(String),
    /// The client asks again, with the same idempotency key.
    Retry(String),
    /// The client waits no longer.
    GiveUp(String),
    /// The client wants the order undone.
    Cancel(String),
    /// From now on these points are watched.
    Arm(Arm),
    /// Goes on when this has happened.
    Await(Await),
    /// Everyone who is held goes on.
    Release,
    /// A process is started.
    Start(String),
    /// A process is killed and started.
    Restart(String),
    /// The broker goes or comes.
    Broker(Switch),
    /// Inventory's queue loses its binding, or gets it back.
    Queue(Binding),
    /// Each message in inventory's queue is in it twice.
    Copy,
    /// The messages in inventory's queue change their order.
    Reverse,
    /// A message that nobody can read is published.
    Poison,
}

/// Points to watch.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Arm {
    /// Of these processes.
    pub processes: Vec<String>,
    /// Any of these.
    pub points: Vec<String>,
    /// Where a mistake changes the way: the point that takes the place of the others.
    #[serde(default)]
    pub instead: BTreeMap<Mistake, String>,
    /// What happens there, once.
    pub then: Then,
}

impl Arm {
    /// The points of a run with these mistakes.
    pub(crate) fn points_with(&self, mistakes: &Mistakes) -> Vec<String> {
        let instead = self.instead.iter().find(|(mistake, _)| mistakes.has(**mistake));
        instead.map_or_else(|| self.points.clone(), |(_, point)| vec![point.clone()])
    }
}

/// What happens at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Then {
    /// `kill -9`.
    Kill,
    /// The process waits there.
    Hold,
    /// Nothing; it is enough that it was passed.
    Note,
}

/// What to wait for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Await {
    /// One of the armed points is reached.
    Failure,
    /// The client has an answer.
    Answer(String),
    /// So many messages are in inventory's queue.
    Queued(u64),
    /// Inventory has reserved stock for this order.
    Effect(String),
}

/// Off or on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// It goes.
    Stop,
    /// It comes back.
    Start,
}

/// Whether a queue gets what is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Binding {
    /// It does not.
    Unbind,
    /// It does.
    Bind,
}

fn everyone() -> Vec<String> {
    ["order-service", "inventory-service", "orders-relay", "inventory-relay"]
        .map(str::to_owned)
        .to_vec()
}

fn yes() -> bool {
    true
}
