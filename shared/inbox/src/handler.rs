use async_trait::async_trait;
use sea_orm::{DatabaseTransaction, DbErr};
use transport::Message;

use crate::Reason;

/// What a service does with its messages. Everything else is the [`crate::Consumer`]'s.
#[async_trait]
pub trait Handler: Send + Sync + 'static {
    /// A message after decoding.
    type Event: Send + Sync;

    /// Turns a raw message into an event. Look at its type, its schema version and its body; the
    /// message id has been checked already.
    ///
    /// # Errors
    /// It can't be read, and never will be: the consumer parks it.
    fn decode(&self, message: &Message) -> Result<Self::Event, Unreadable>;

    /// Carries out the effect, in the transaction that already holds the inbox row. It may run
    /// several times for one message, but it is committed once. No effects outside of `tx`!
    ///
    /// # Errors
    /// By the error's [`database::Failure`]: the consumer waits for the database, repeats the
    /// transaction, or counts it like [`Verdict::Retry`].
    async fn handle(&self, tx: &DatabaseTransaction, event: &Self::Event)
    -> Result<Verdict, DbErr>;

    /// Called after each commit, to wake a relay for instance. Best effort: a crash may skip it.
    fn committed(&self) {}
}

/// What the handler decided. A thin edge acts on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Commit, then acknowledge.
    Ack,
    /// Roll back, try again later; after the last try it is parked with this text.
    Retry(String),
    /// Roll back and park it with this text.
    Park(String),
}

/// Why a message can't be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// One word, for programs.
    pub reason: Reason,
    /// One sentence, for people.
    pub detail: String,
}
