//! A broker that does what the test says.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::Semaphore;
use transport::{
    Consumer, Message, Outcome, Published, Publisher, QueueDepth, Transport, TransportError,
};

type Script = Box<dyn FnMut(&Message) -> Outcome + Send>;

/// Shared by the test and by all relays. Confirms everything unless told otherwise.
#[derive(Clone, Default)]
pub(crate) struct FakeBroker(Arc<State>);

#[derive(Default)]
struct State {
    /// What was given to it, one entry for each call of `publish`.
    batches: Mutex<Vec<Vec<Message>>>,
    script: Mutex<Option<Script>>,
    /// Taken by the next publish, which then waits in it.
    gate: Mutex<Option<Gate>>,
    /// The next publish ends its session.
    lose_next: AtomicBool,
    /// The same, but of the publish after the one that stands in the gate.
    lose_after_gate: AtomicBool,
    /// Sessions that are open fail their next check.
    break_sessions: AtomicUsize,
    away: AtomicBool,
    opened: AtomicUsize,
    refused: AtomicUsize,
}

/// Holds one publish until the test lets it go on.
#[derive(Clone)]
pub(crate) struct Gate(Arc<(Semaphore, Semaphore)>);

impl Gate {
    fn new() -> Self {
        Self(Arc::new((Semaphore::new(0), Semaphore::new(0))))
    }

    /// Waits until a publish stands in the gate.
    pub(crate) async fn reached(&self) {
        self.0.0.acquire().await.expect("never closed").forget();
    }

    /// Lets it go on.
    pub(crate) fn open(&self) {
        self.0.1.add_permits(1);
    }

    async fn pass(&self) {
        self.0.0.add_permits(1);
        self.0.1.acquire().await.expect("never closed").forget();
    }
}

impl FakeBroker {
    pub(crate) fn transport(&self) -> Arc<dyn Transport> {
        Arc::new(self.clone())
    }

    /// From now on it answers each message by `script`.
    pub(crate) fn answer(&self, script: impl FnMut(&Message) -> Outcome + Send + 'static) {
        *lock(&self.0.script) = Some(Box::new(script));
    }

    /// The next publish is recorded, then waits in the returned gate, then is answered.
    pub(crate) fn hold_next_publish(&self) -> Gate {
        let gate = Gate::new();
        *lock(&self.0.gate) = Some(gate.clone());
        gate
    }

    /// Takes back [`Self::hold_next_publish`].
    pub(crate) fn hold_nothing(&self) {
        *lock(&self.0.gate) = None;
    }

    /// The next publish ends its session, with the outcomes of the script.
    pub(crate) fn lose_session_at_next_publish(&self) {
        self.0.lose_next.store(true, Ordering::SeqCst);
    }

    /// The publish after the one in the gate ends their session.
    pub(crate) fn lose_session_after_the_gate(&self) {
        self.0.lose_after_gate.store(true, Ordering::SeqCst);
    }

    /// Every session that is open now is dead, and says so when it is asked.
    pub(crate) fn break_open_sessions(&self) {
        self.0.break_sessions.store(self.sessions_opened(), Ordering::SeqCst);
    }

    /// While it is away, no session can be opened.
    pub(crate) fn set_away(&self, away: bool) {
        self.0.away.store(away, Ordering::SeqCst);
    }

    pub(crate) fn sessions_opened(&self) -> usize {
        self.0.opened.load(Ordering::SeqCst)
    }

    pub(crate) fn sessions_refused(&self) -> usize {
        self.0.refused.load(Ordering::SeqCst)
    }

    /// Everything it was given, in this order.
    pub(crate) fn published(&self) -> Vec<Message> {
        lock(&self.0.batches).concat()
    }

    /// The same, apart by calls.
    pub(crate) fn batches(&self) -> Vec<Vec<Message>> {
        lock(&self.0.batches).clone()
    }

    /// The versions that it was given, in this order, of each aggregate.
    pub(crate) fn versions(&self) -> HashMap<String, Vec<i64>> {
        let mut versions = HashMap::<_, Vec<i64>>::new();
        for message in self.published() {
            versions.entry(aggregate(&message)).or_default().push(version(&message));
        }
        versions
    }
}

/// Which aggregate a message is about.
pub(crate) fn aggregate(message: &Message) -> String {
    let id = message.headers.get("aggregate-id").and_then(|id| id.as_str());
    id.expect("an aggregate-id").to_owned()
}

/// Which version of it.
pub(crate) fn version(message: &Message) -> i64 {
    let version = message.headers.get("aggregate-version").and_then(|version| version.as_i64());
    version.expect("an aggregate-version")
}

#[async_trait]
impl Transport for FakeBroker {
    async fn publisher(&self) -> Result<Box<dyn Publisher>, TransportError> {
        if self.0.away.load(Ordering::SeqCst) {
            self.0.refused.fetch_add(1, Ordering::SeqCst);
            return Err(lost());
        }
        let number = self.0.opened.fetch_add(1, Ordering::SeqCst) + 1;
        Ok(Box::new(Session { broker: self.clone(), number, lost: AtomicBool::new(false) }))
    }

    async fn consumer(&self, _: &str, _: u16) -> Result<Box<dyn Consumer>, TransportError> {
        unreachable!("a relay only publishes")
    }

    async fn depths(&self) -> Result<Vec<QueueDepth>, TransportError> {
        Ok(vec![])
    }
}

struct Session {
    broker: FakeBroker,
    number: usize,
    lost: AtomicBool,
}

#[async_trait]
impl Publisher for Session {
    async fn publish(&self, messages: &[Message]) -> Published {
        if self.lost.load(Ordering::SeqCst) {
            // A batch that was on its way when another one lost the session.
            let outcomes = vec![Outcome::Unknown; messages.len()];
            return Published { outcomes, lost: Some(lost()) };
        }
        let state = &self.broker.0;
        lock(&state.batches).push(messages.to_vec());
        let gate = lock(&state.gate).take();
        if let Some(gate) = gate {
            if state.lose_after_gate.swap(false, Ordering::SeqCst) {
                state.lose_next.store(true, Ordering::SeqCst);
            }
            gate.pass().await;
        }
        if self.lost.load(Ordering::SeqCst) {
            // Another batch lost the session meanwhile.
            let outcomes = vec![Outcome::Unknown; messages.len()];
            return Published { outcomes, lost: Some(lost()) };
        }
        let outcomes = match lock(&state.script).as_mut() {
            Some(script) => messages.iter().map(script).collect(),
            None => vec![Outcome::Confirmed; messages.len()],
        };
        let lose = state.lose_next.swap(false, Ordering::SeqCst);
        self.lost.fetch_or(lose, Ordering::SeqCst);
        Published { outcomes, lost: lose.then(lost) }
    }

    async fn check(&self) -> Result<(), TransportError> {
        let broken = self.number <= self.broker.0.break_sessions.load(Ordering::SeqCst);
        match broken || self.lost.load(Ordering::SeqCst) {
            true => Err(lost()),
            false => Ok(()),
        }
    }
}

fn lost() -> TransportError {
    TransportError::SessionLost { reason: "the test says so".to_owned() }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
