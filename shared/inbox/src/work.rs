use sea_orm::DbErr;
use tokio::time::Instant;
use transport::{Delivery, MessageId};

use crate::aggregate::Step;
use crate::{Handler, Unreadable, calls};

/// A delivery in hand, read once, however often it is tried.
pub(crate) struct Work<E> {
    pub(crate) delivery: Delivery,
    pub(crate) read: Result<Readable<E>, Unreadable>,
    /// Its place in the life of its aggregate. `None`: it has none, or no order is kept.
    pub(crate) step: Option<Step>,
    /// It may have been started before, without success. It is then handled alone, and each start is
    /// counted beforehand: when the process dies, it alone is charged.
    pub(crate) suspect: bool,
    /// Until then it waits for the versions before it. Set when it first has to wait.
    pub(crate) patience: Option<Instant>,
}

/// What a handler can work with.
pub(crate) struct Readable<E> {
    pub(crate) message_id: MessageId,
    pub(crate) event: E,
    /// Of the body.
    pub(crate) hash: String,
}

/// What a try came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    Processed,
    Duplicate,
    /// A later version of its aggregate has taken effect: this one never will.
    Stale,
    Parked,
    /// An earlier version of its aggregate is missing. Nothing was done.
    Early,
    /// Its handler failed at this start and may be started again.
    Failed {
        starts: u32,
        detail: String,
    },
}

/// Why a transaction was rolled back.
pub(crate) enum Setback {
    /// Another consumer moved the aggregate on meanwhile.
    Overtaken,
    /// The same id was used for another body.
    OtherBody,
    /// A later version of its aggregate has taken effect, and there is more to know about this one:
    /// it was started before, or parked.
    Stale,
    /// The handler wants to be called again later.
    Retry(String),
    /// The handler has given up.
    Park(String),
    /// The database refused something.
    Database(DbErr),
}

impl From<DbErr> for Setback {
    fn from(error: DbErr) -> Self {
        Self::Database(error)
    }
}

impl<E> Work<E> {
    pub(crate) fn new<H>(handler: &H, ordered: bool, delivery: Delivery) -> Self
    where
        H: Handler<Event = E>,
    {
        let read = calls::read(handler, &delivery.message);
        let step = ordered.then(|| Step::of(&delivery.message)).flatten();
        let suspect = delivery.redelivered;
        Self { delivery, read, step, suspect, patience: None }
    }

    /// Whether it must not share a transaction with others.
    pub(crate) fn is_solitary(&self) -> bool {
        self.suspect || self.read.is_err()
    }

    pub(crate) fn message_id(&self) -> Option<MessageId> {
        self.read.as_ref().ok().map(|read| read.message_id)
    }

    pub(crate) fn is_about_the_same_as(&self, other: &Self) -> bool {
        let aggregate = |work: &Self| work.step.as_ref().map(|step| step.aggregate.clone());
        self.step.is_some() && aggregate(self) == aggregate(other)
    }

    /// 0 where no order is known.
    pub(crate) fn version(&self) -> i64 {
        self.step.as_ref().map_or(0, |step| step.version)
    }
}
