//! A handler that does what the message says.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use database::Dialect;
use inbox::{Handler, Unreadable, Verdict, json_body};
use sea_orm::{ConnectionTrait, DatabaseTransaction, DbErr};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use transport::Message;

/// The one type of message that it knows.
pub(crate) const KIND: &str = "Acted";

/// A message: its effect is a row with this name.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Act {
    pub(crate) name: String,
    pub(crate) then: Then,
}

/// What happens after the effect was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Then {
    Ack,
    /// Fails at each try.
    Retry,
    /// Fails twice, then succeeds.
    RetryTwice,
    Park,
    Panic,
    /// The decoder panics.
    PanicWhenRead,
    /// A statement that no database can ever understand.
    Nonsense,
    /// The same, and the handler takes no notice.
    Swallow,
    /// Fails twice as if another transaction had been in the way, then succeeds. PostgreSQL only.
    CollideTwice,
    /// Waits until the test lets it go on, then succeeds.
    Wait,
    /// Takes the process with it.
    Abort,
}

/// Clones share what they have seen.
#[derive(Clone, Default)]
pub(crate) struct Actor(Arc<Seen>);

struct Seen {
    calls: Mutex<Vec<String>>,
    /// Names, and how often they still have to fail.
    failing: Mutex<BTreeMap<String, u32>>,
    committed: AtomicUsize,
    panics_when_told: AtomicBool,
    waiting: Semaphore,
    go_on: Semaphore,
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            calls: Mutex::default(),
            failing: Mutex::default(),
            committed: AtomicUsize::default(),
            panics_when_told: AtomicBool::default(),
            waiting: Semaphore::new(0),
            go_on: Semaphore::new(0),
        }
    }
}

impl Actor {
    /// The names it was called with, in this order.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.lock_calls().clone()
    }

    /// How often it was called with a name.
    pub(crate) fn calls_of(&self, name: &str) -> usize {
        self.lock_calls().iter().filter(|call| *call == name).count()
    }

    /// How often it was told of a commit.
    pub(crate) fn told_of_commits(&self) -> usize {
        self.0.committed.load(Ordering::SeqCst)
    }

    /// From now on it panics whenever it is told of a commit.
    pub(crate) fn panic_when_told(&self) {
        self.0.panics_when_told.store(true, Ordering::SeqCst);
    }

    /// Fails the next so many calls with a name, whatever its message says.
    pub(crate) fn fail(&self, name: &str, times: u32) {
        self.lock_failing().insert(name.to_owned(), times);
    }

    fn must_fail(&self, name: &str) -> bool {
        let mut failing = self.lock_failing();
        let left = failing.get_mut(name).filter(|left| **left > 0);
        left.map(|left| *left -= 1).is_some()
    }

    fn lock_failing(&self) -> MutexGuard<'_, BTreeMap<String, u32>> {
        self.0.failing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a [`Then::Wait`] is in hand.
    pub(crate) async fn waits(&self) {
        self.0.waiting.acquire().await.expect("never closed").forget();
    }

    /// Lets it go on.
    pub(crate) fn go_on(&self) {
        self.0.go_on.add_permits(1);
    }

    fn lock_calls(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Handler for Actor {
    type Event = Act;

    fn decode(&self, message: &Message) -> Result<Act, Unreadable> {
        match message.properties.kind.as_deref() {
            Some(KIND) => {
                let act: Act = json_body(message, 1)?;
                assert!(act.then != Then::PanicWhenRead, "a test of a decoder that panics");
                Ok(act)
            }
            other => Err(Unreadable::unknown_type(other)),
        }
    }

    async fn handle(&self, tx: &DatabaseTransaction, act: &Act) -> Result<Verdict, DbErr> {
        self.lock_calls().push(act.name.clone());
        let sql = "INSERT INTO effects (name) VALUES ($1)";
        tx.execute_raw(Dialect::of(tx).statement(sql, [act.name.as_str().into()])).await?;
        if self.must_fail(&act.name) {
            return Ok(Verdict::Retry("told to fail".to_owned()));
        }
        Ok(match act.then {
            Then::Ack | Then::PanicWhenRead => Verdict::Ack,
            Then::Retry => Verdict::Retry("not yet".to_owned()),
            Then::RetryTwice if self.calls_of(&act.name) <= 2 => Verdict::Retry("soon".to_owned()),
            Then::RetryTwice => Verdict::Ack,
            Then::Park => Verdict::Park("never".to_owned()),
            Then::Panic => panic!("a test of a handler that panics"),
            Then::Nonsense => {
                tx.execute_unprepared("NONSENSE").await?;
                Verdict::Ack
            }
            Then::Swallow => {
                let _ = tx.execute_unprepared("NONSENSE").await;
                Verdict::Ack
            }
            Then::CollideTwice => {
                if self.calls_of(&act.name) <= 2 {
                    let collide = "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$";
                    tx.execute_unprepared(collide).await?;
                }
                Verdict::Ack
            }
            Then::Abort => std::process::abort(),
            Then::Wait => {
                self.0.waiting.add_permits(1);
                self.0.go_on.acquire().await.expect("never closed").forget();
                Verdict::Ack
            }
        })
    }

    fn committed(&self) {
        self.0.committed.fetch_add(1, Ordering::SeqCst);
        let panics = self.0.panics_when_told.load(Ordering::SeqCst);
        assert!(!panics, "a test of a handler that panics when told of a commit");
    }
}
