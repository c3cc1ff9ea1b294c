use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::crew::Roll;
use crate::snapshot::Tables;
use crate::text_gateway::Texts;
use crate::trace::{State, Step};

/// Writes down what happens, with what the tables hold right after it.
pub(crate) struct Recorder {
    started: Instant,
    tables: Tables,
    roll: Roll,
    texts: Texts,
    /// One step after the other: the tables are read between them.
    recorded: tokio::sync::Mutex<Recorded>,
    last: Mutex<Instant>,
    /// When somebody last tried what can't succeed.
    tried: Mutex<Option<Instant>>,
}

#[derive(Debug, Default)]
struct Recorded {
    steps: Vec<Step>,
    states: Vec<State>,
}

impl Recorder {
    pub(crate) fn new(tables: Tables, roll: Roll, texts: Texts) -> Self {
        Self {
            started: Instant::now(),
            tables,
            roll,
            texts,
            recorded: tokio::sync::Mutex::default(),
            last: Mutex::new(Instant::now()),
            tried: Mutex::default(),
        }
    }

    pub(crate) async fn record(&self, kind: &str, step: Step) {
        let mut recorded = self.recorded.lock().await;
        let state = self.look().await;
        if recorded.states.last() != Some(&state) {
            recorded.states.push(state);
        }
        let at = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let state = recorded.states.len() - 1;
        recorded.steps.push(Step { at, kind: kind.to_owned(), state, ..step });
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// What the tables hold now.
    pub(crate) async fn look(&self) -> State {
        let mut state = self.tables.read().await;
        state.processes = self.roll.states();
        state.text_messages = self.texts.state(&self.tables);
        state
    }

    /// Somebody tries again what has failed: that is no step, but no end either.
    pub(crate) fn note_try(&self) {
        *self.tried.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether somebody has tried again within this time.
    pub(crate) fn tries_within(&self, time: Duration) -> bool {
        let tried = *self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        tried.is_some_and(|tried| tried.elapsed() < time)
    }

    /// How long ago the last thing happened.
    pub(crate) fn since_last(&self) -> Duration {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    pub(crate) async fn take_parts(&self) -> (Vec<Step>, Vec<State>, u64) {
        let mut recorded = self.recorded.lock().await;
        let millis = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        (std::mem::take(&mut recorded.steps), std::mem::take(&mut recorded.states), millis)
    }

    pub(crate) fn tables(&self) -> &Tables {
        &self.tables
    }
}
