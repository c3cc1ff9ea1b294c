//! The retry: the inbox transaction of a message that comes from the table instead of the broker.

use std::panic::AssertUnwindSafe;

use database::{Failure, begin_write};
use futures_util::FutureExt;
use sea_orm::{DatabaseConnection, DbErr};
use transport::Message;

use super::store::{self, Stored};
use super::{ActionError, By, Filter, Horizon, Outcome, ParkedId, Retried, Run, State};
use crate::calls::{read, tell_committed};
use crate::work::Readable;
use crate::{Handler, InboxTransaction, Reason, Receipt, Unreadable, Verdict, begin};

/// Messages that [`Replayer::retry_many`] looks up at a time.
const PAGE: u64 = 100;

/// Tries of one transaction while others are in its way.
const MAX_COLLISIONS: u32 = 5;

/// Tries parked messages of one consumer again, with that consumer's handler.
///
/// Give `Arc<H>` to the [`crate::Consumer`] and to this one: an `Arc` of a handler is a handler.
pub struct Replayer<H> {
    db: DatabaseConnection,
    handler: H,
    consumer: String,
}

/// What one try came to.
enum Try {
    Done(Outcome),
    /// Somebody else has retried or discarded it meanwhile.
    Overtaken,
    Failed(Unreadable),
}

impl<H: Handler> Replayer<H> {
    /// `consumer` is the name that the consumer has in the inbox.
    pub fn new(db: DatabaseConnection, handler: H, consumer: &str) -> Self {
        Self { db, handler, consumer: consumer.to_owned() }
    }

    /// The database, for [`list`](super::list), [`show`](super::show) and [`discard`](super::discard).
    #[must_use]
    pub fn db(&self) -> &DatabaseConnection {
        &self.db
    }

    /// Tries one parked message again.
    ///
    /// # Errors
    /// It is not there, not parked, not this consumer's, beyond the horizon, or fails again; or
    /// whatever the database answers.
    pub async fn retry(
        &self,
        id: ParkedId,
        by: &By,
        horizon: Horizon,
    ) -> Result<Outcome, ActionError> {
        let stored = store::load(&self.db, id).await?.ok_or(ActionError::NotFound(id))?;
        if stored.state != State::Parked {
            return Err(ActionError::NotParked { id, state: stored.state });
        }
        if stored.consumer != self.consumer {
            return Err(ActionError::OtherConsumer { id, consumer: stored.consumer });
        }
        if let Horizon::Within(retention) = horizon
            && stored.age > retention
        {
            return Err(ActionError::TooOld { id, age: stored.age, retention });
        }
        match self.try_until_clear(id, &stored, by).await? {
            Try::Done(outcome) => {
                tracing::info!(parked_id = %id, by.actor, ?outcome, "a parked message was retried");
                Ok(outcome)
            }
            Try::Overtaken => Err(store::not_parked(&self.db, id).await),
            Try::Failed(why) => self.stays_parked(id, by, why).await,
        }
    }

    /// Tries all parked messages of a filter again, oldest first. The filter's consumer and state are
    /// this consumer and `parked`. An error in mid-way leaves those before it done.
    ///
    /// # Errors
    /// Whatever the database answers.
    pub async fn retry_many(
        &self,
        filter: Filter,
        by: &By,
        horizon: Horizon,
        run: Run,
    ) -> Result<Retried, ActionError> {
        let filter =
            Filter { consumer: Some(self.consumer.clone()), state: Some(State::Parked), ..filter };
        if run == Run::Dry {
            return Ok(store::count(&self.db, &filter, horizon).await?);
        }
        let mut retried = Retried::default();
        // What is parked from now on is not part of it, or it might never end.
        let Some(newest) = store::list(&self.db, &filter, 1).await?.pop() else {
            return Ok(retried);
        };
        // By id, never from the start again: what fails once more is not tried for ever.
        let mut last = None;
        loop {
            let ids = store::ids_after(&self.db, &filter, last, PAGE).await?;
            let Some(highest) = ids.last() else {
                return Ok(retried);
            };
            last = Some(*highest);
            for id in ids {
                if id > newest.parked_id {
                    return Ok(retried);
                }
                match self.retry(id, by, horizon).await {
                    Ok(Outcome::Processed) => retried.processed += 1,
                    Ok(Outcome::Duplicate) => retried.duplicates += 1,
                    Err(ActionError::StillFailing { .. }) => retried.still_failing += 1,
                    Err(ActionError::TooOld { .. }) => {
                        retried.too_old += 1;
                        continue;
                    }
                    // Somebody else was first: it counts for them.
                    Err(ActionError::NotParked { .. } | ActionError::NotFound(_)) => continue,
                    Err(error) => return Err(error),
                }
                retried.count += 1;
            }
        }
    }

    /// The whole transaction again, as long as others are in its way.
    async fn try_until_clear(&self, id: ParkedId, stored: &Stored, by: &By) -> Result<Try, DbErr> {
        let mut collisions = 0;
        loop {
            let error = match self.try_once(id, &stored.message, by).await {
                Ok(tried) => return Ok(tried),
                Err(error) => error,
            };
            match Failure::of(&error) {
                Failure::Contention if collisions < MAX_COLLISIONS => collisions += 1,
                failure if failure.is_transient() => return Err(error),
                _ => return Ok(Try::Failed(handler_failed(error.to_string()))),
            }
        }
    }

    async fn try_once(&self, id: ParkedId, message: &Message, by: &By) -> Result<Try, DbErr> {
        let Readable { message_id, event, .. } = match read(&self.handler, message) {
            Ok(read) => read,
            Err(unreadable) => return Ok(Try::Failed(unreadable)),
        };
        match begin(&self.db, &self.consumer, message_id, &message.body).await? {
            Receipt::First(tx) => self.handle(tx, id, &event, by).await,
            Receipt::Duplicate => self.mark_duplicate(id, by).await,
            Receipt::OtherBody => Ok(Try::Failed(Unreadable {
                reason: Reason::DuplicateIdOtherBody,
                detail: "this message_id was processed before, with another body".to_owned(),
            })),
        }
    }

    /// Effect, inbox row, the row's new state and the record of it: all of them or none.
    async fn handle(
        &self,
        tx: InboxTransaction,
        id: ParkedId,
        event: &H::Event,
        by: &By,
    ) -> Result<Try, DbErr> {
        let handled = AssertUnwindSafe(self.handler.handle(&tx, event)).catch_unwind().await;
        let Ok(verdict) = handled else {
            return Ok(Try::Failed(handler_failed("the handler panicked".to_owned())));
        };
        match verdict? {
            Verdict::Ack => {
                if !store::leave(&tx, id, State::Retried).await? {
                    return Ok(Try::Overtaken); // dropping `tx` rolls the effect back
                }
                store::record(&tx, id, "retry", by, Some("processed")).await?;
                tx.commit().await?;
                tell_committed(&self.handler);
                Ok(Try::Done(Outcome::Processed))
            }
            Verdict::Retry(detail) | Verdict::Park(detail) => {
                Ok(Try::Failed(handler_failed(detail)))
            }
        }
    }

    async fn mark_duplicate(&self, id: ParkedId, by: &By) -> Result<Try, DbErr> {
        let tx = begin_write(&self.db).await?;
        if !store::leave(&tx, id, State::Retried).await? {
            return Ok(Try::Overtaken);
        }
        store::record(&tx, id, "retry", by, Some("duplicate: its effect was there")).await?;
        tx.commit().await?;
        Ok(Try::Done(Outcome::Duplicate))
    }

    async fn stays_parked(
        &self,
        id: ParkedId,
        by: &By,
        why: Unreadable,
    ) -> Result<Outcome, ActionError> {
        let tx = begin_write(&self.db).await?;
        if !store::stay(&tx, id, &why).await? {
            return Err(store::not_parked(&tx, id).await);
        }
        let outcome = format!("still failing ({}): {}", why.reason, why.detail);
        store::record(&tx, id, "retry", by, Some(&outcome)).await?;
        tx.commit().await?;
        Err(ActionError::StillFailing { reason: why.reason, detail: why.detail })
    }
}

fn handler_failed(detail: String) -> Unreadable {
    Unreadable { reason: Reason::HandlerFailed, detail }
}
