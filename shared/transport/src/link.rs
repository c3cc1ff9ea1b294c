use std::fmt;
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// Whether a peer (the broker, the database) can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LinkState {
    /// Not tried yet.
    #[default]
    Unknown,
    /// It works.
    Up,
    /// It does not, and why, in one line.
    Down(String),
}

/// The state of the link to one peer: kept for health checks, and logged when it changes. One line
/// when an outage begins and one when it ends; a line for each failed try would drown everything else.
#[derive(Debug)]
pub struct Link {
    peer: &'static str,
    state: watch::Sender<LinkState>,
    down_since: Option<Instant>,
    up_since: Option<Instant>,
    /// Whether the present outage was worth a line.
    told: bool,
}

/// A link that breaks again so soon is still the same trouble, and gets no second line, unless it
/// then stays down.
const FLAPPING: Duration = Duration::from_secs(2);

impl Link {
    /// `peer` is how logs name the other end: "broker", "database".
    #[must_use]
    pub fn new(peer: &'static str) -> Self {
        Self {
            peer,
            state: watch::Sender::default(),
            down_since: None,
            up_since: None,
            told: false,
        }
    }

    /// For health checks.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<LinkState> {
        self.state.subscribe()
    }

    /// The peer has answered.
    pub fn up(&mut self) {
        if let Some(since) = self.down_since.take() {
            let seconds = since.elapsed().as_secs_f32();
            if std::mem::take(&mut self.told) {
                tracing::info!("{} is back after {seconds:.1} s", self.peer);
            }
            self.up_since = Some(Instant::now());
        }
        self.set(LinkState::Up);
    }

    /// The peer has not answered. Its owner goes on trying.
    pub fn down(&mut self, reason: &impl fmt::Display) {
        self.down_since.get_or_insert_with(Instant::now);
        let flapping = self.up_since.is_some_and(|since| since.elapsed() < FLAPPING);
        if !self.told && !flapping {
            self.told = true;
            tracing::warn!("lost the {}, trying again until it is back: {reason}", self.peer);
        }
        self.set(LinkState::Down(reason.to_string()));
    }

    fn set(&self, new: LinkState) {
        self.state.send_if_modified(|state| {
            let changed = *state != new;
            *state = new;
            changed
        });
    }
}
