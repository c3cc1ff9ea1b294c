//! A broker in memory, with what matters to a consumer: queues, prefetch, redelivery of what a
//! session left unsettled, and ends of sessions at the test's command.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use database::Dialect;
use sea_orm::{ConnectionTrait, DatabaseConnection};
use tokio::sync::watch;
use transport::{
    Consumer, Delivery, Message, Publisher, QueueDepth, Settle, Settlement, Transport,
    TransportError,
};

/// Shared by the test and by all consumers.
#[derive(Clone)]
pub(crate) struct FakeBroker(Arc<State>);

struct State {
    queues: Mutex<BTreeMap<String, VecDeque<Stored>>>,
    /// By the moment when each was asked for: several may be under way at once.
    settled: Mutex<BTreeMap<usize, Settled>>,
    next_settlement: AtomicUsize,
    next_tag: AtomicUsize,
    /// Raised whenever a queue or a session has changed.
    changes: watch::Sender<()>,
    away: AtomicBool,
    refused: AtomicUsize,
    opened: AtomicUsize,
    /// Queue and prefetch of each session that was opened.
    sessions: Mutex<Vec<(String, u16)>>,
    /// The next so many settlements fail, and their sessions with them.
    failing_settlements: AtomicUsize,
    /// The queue whose session finds, once, that it has ended.
    ending: Mutex<Option<String>>,
    /// Looks into the database when something is settled, for one settlement at a time: it must not
    /// take all connections.
    witness: tokio::sync::Mutex<DatabaseConnection>,
}

#[derive(Debug, Clone)]
struct Stored {
    tag: usize,
    message: Message,
    redelivered: bool,
}

/// A settlement that took place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settled {
    /// The number that [`FakeBroker::send`] returned.
    pub(crate) tag: usize,
    pub(crate) settlement: Settlement,
    /// How many messages were processed or parked at that moment, as another connection sees it.
    pub(crate) durable: i64,
}

impl FakeBroker {
    pub(crate) fn new(witness: DatabaseConnection) -> Self {
        Self(Arc::new(State {
            queues: Mutex::default(),
            settled: Mutex::default(),
            next_settlement: AtomicUsize::default(),
            next_tag: AtomicUsize::default(),
            changes: watch::Sender::default(),
            away: AtomicBool::default(),
            refused: AtomicUsize::default(),
            opened: AtomicUsize::default(),
            sessions: Mutex::default(),
            failing_settlements: AtomicUsize::default(),
            ending: Mutex::default(),
            witness: tokio::sync::Mutex::new(witness),
        }))
    }

    pub(crate) fn transport(&self) -> Arc<dyn Transport> {
        Arc::new(self.clone())
    }

    /// Puts a message into a queue and returns its number.
    pub(crate) fn send(&self, queue: &str, message: Message) -> usize {
        self.put(queue, message, false)
    }

    /// The same, of a message that may have been delivered before.
    pub(crate) fn redeliver(&self, queue: &str, message: Message) -> usize {
        self.put(queue, message, true)
    }

    fn put(&self, queue: &str, message: Message, redelivered: bool) -> usize {
        let tag = self.0.next_tag.fetch_add(1, Ordering::SeqCst);
        let stored = Stored { tag, message, redelivered };
        lock(&self.0.queues).entry(queue.to_owned()).or_default().push_back(stored);
        self.0.changes.send_replace(());
        tag
    }

    /// All settlements, in their order.
    pub(crate) fn settled(&self) -> Vec<Settled> {
        lock(&self.0.settled).values().copied().collect()
    }

    /// The numbers of the acknowledged messages, in their order. Nothing else may have happened.
    pub(crate) fn acked(&self) -> Vec<usize> {
        let settled = self.settled();
        assert!(settled.iter().all(|settled| settled.settlement == Settlement::Ack), "{settled:?}");
        settled.iter().map(|settled| settled.tag).collect()
    }

    /// How many messages nobody has in hand.
    pub(crate) fn ready(&self, queue: &str) -> usize {
        lock(&self.0.queues).get(queue).map_or(0, VecDeque::len)
    }

    /// While it is away, no session can be opened.
    pub(crate) fn set_away(&self, away: bool) {
        self.0.away.store(away, Ordering::SeqCst);
    }

    pub(crate) fn sessions_refused(&self) -> usize {
        self.0.refused.load(Ordering::SeqCst)
    }

    pub(crate) fn sessions_opened(&self) -> usize {
        self.0.opened.load(Ordering::SeqCst)
    }

    /// The prefetch of each session on `queue` so far.
    pub(crate) fn prefetches(&self, queue: &str) -> Vec<u16> {
        let sessions = lock(&self.0.sessions);
        sessions.iter().filter(|(name, _)| name == queue).map(|(_, prefetch)| *prefetch).collect()
    }

    /// The next settlement does not arrive, as when the connection breaks right before it.
    pub(crate) fn lose_next_settlement(&self) {
        self.0.failing_settlements.store(1, Ordering::SeqCst);
    }

    /// Ends one session on `queue`.
    pub(crate) fn end_session(&self, queue: &str) {
        *lock(&self.0.ending) = Some(queue.to_owned());
        self.0.changes.send_replace(());
    }
}

#[async_trait]
impl Transport for FakeBroker {
    async fn publisher(&self) -> Result<Box<dyn Publisher>, TransportError> {
        unreachable!("a consumer publishes nothing")
    }

    async fn consumer(
        &self,
        queue: &str,
        prefetch: u16,
    ) -> Result<Box<dyn Consumer>, TransportError> {
        if self.0.away.load(Ordering::SeqCst) {
            self.0.refused.fetch_add(1, Ordering::SeqCst);
            return Err(lost());
        }
        self.0.opened.fetch_add(1, Ordering::SeqCst);
        lock(&self.0.sessions).push((queue.to_owned(), prefetch));
        Ok(Box::new(Session {
            broker: self.clone(),
            queue: queue.to_owned(),
            prefetch: usize::from(prefetch),
            held: Held::default(),
        }))
    }

    async fn depths(&self) -> Result<Vec<QueueDepth>, TransportError> {
        Ok(vec![])
    }
}

/// What a session has delivered and not seen settled.
type Held = Arc<Mutex<BTreeMap<usize, Stored>>>;

struct Session {
    broker: FakeBroker,
    queue: String,
    prefetch: usize,
    held: Held,
}

#[async_trait]
impl Consumer for Session {
    async fn next(&mut self) -> Result<Delivery, TransportError> {
        let mut changes = self.broker.0.changes.subscribe();
        loop {
            if lock(&self.broker.0.ending).take_if(|queue| *queue == self.queue).is_some() {
                return Err(lost());
            }
            if let Some(stored) = self.take() {
                let settle = SettleOne {
                    broker: self.broker.clone(),
                    tag: stored.tag,
                    held: self.held.clone(),
                };
                return Ok(Delivery::new(stored.message, stored.redelivered, Box::new(settle)));
            }
            changes.changed().await.expect("the broker lives");
        }
    }
}

impl Session {
    fn take(&self) -> Option<Stored> {
        let mut held = lock(&self.held);
        if held.len() >= self.prefetch {
            return None;
        }
        let stored = lock(&self.broker.0.queues).get_mut(&self.queue)?.pop_front()?;
        held.insert(stored.tag, stored.clone());
        Some(stored)
    }
}

impl Drop for Session {
    /// Everything unsettled goes back to the front of the queue, in its old order.
    fn drop(&mut self) {
        let held = std::mem::take(&mut *lock(&self.held));
        let mut queues = lock(&self.broker.0.queues);
        let queue = queues.entry(self.queue.clone()).or_default();
        for (_, stored) in held.into_iter().rev() {
            queue.push_front(Stored { redelivered: true, ..stored });
        }
        drop(queues);
        self.broker.0.changes.send_replace(());
    }
}

struct SettleOne {
    broker: FakeBroker,
    tag: usize,
    held: Held,
}

#[async_trait]
impl Settle for SettleOne {
    async fn settle(self: Box<Self>, settlement: Settlement) -> Result<(), TransportError> {
        let state = &self.broker.0;
        if take_one(&state.failing_settlements) {
            return Err(lost());
        }
        let turn = state.next_settlement.fetch_add(1, Ordering::SeqCst);
        let durable = durable(&*state.witness.lock().await).await;
        if lock(&self.held).remove(&self.tag).is_none() {
            return Err(lost());
        }
        lock(&state.settled).insert(turn, Settled { tag: self.tag, settlement, durable });
        state.changes.send_replace(());
        Ok(())
    }
}

async fn durable(witness: &DatabaseConnection) -> i64 {
    let sql = "SELECT (SELECT COUNT(*) FROM inbox_messages)
                    + (SELECT COUNT(*) FROM parked_messages) AS n";
    let row = witness.query_one_raw(Dialect::of(witness).statement(sql, [])).await;
    row.expect("an answer").expect("a row").try_get("", "n").expect("a number")
}

/// Takes one off a counter, unless it is 0.
pub(crate) fn take_one(counter: &AtomicUsize) -> bool {
    let taken = counter.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
    taken.is_ok()
}

pub(crate) fn lost() -> TransportError {
    TransportError::SessionLost { reason: "the test says so".to_owned() }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
