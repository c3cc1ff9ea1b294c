//! Tries: one transaction for many messages where all goes well, one for each where something fails.

use std::slice::from_ref;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use database::Failure;
use sea_orm::{DatabaseConnection, DbErr};
use tokio_util::sync::CancellationToken;
use transport::Link;

use crate::consumer::{MAX_PAUSE, session_delays, sleep_or_stop};
use crate::parking::{InTurn, Parking, is_parked, was_parked};
use crate::turns::{Turn, Turns};
use crate::work::{Fate, Setback, Work};
use crate::{ConsumerCounts, ConsumerOptions, Handler, Reason, Unreadable, attempts};

/// What the lanes of a consumer share.
pub(crate) struct Worker<H> {
    pub(crate) db: DatabaseConnection,
    pub(crate) handler: H,
    pub(crate) options: ConsumerOptions,
    pub(crate) counts: ConsumerCounts,
    pub(crate) database_link: Mutex<Link>,
    /// Held while a start is counted and not over: should the process die, one message is charged.
    pub(crate) one_suspect: tokio::sync::Mutex<()>,
}

/// What became of a batch.
pub(crate) enum Together {
    /// All of it is committed.
    Done(Vec<Fate>),
    /// Nothing is. Try each message alone.
    Apart,
    /// The consumer stops. Nothing is committed.
    Stopping,
}

/// Transactions that collide so often in a row are made smaller.
const COLLISIONS: u32 = 3;

impl<H: Handler> Worker<H> {
    /// Tries several messages in one transaction. Outages of the database cost them nothing: they
    /// wait in place, so that the order is kept and the broker counts no delivery.
    pub(crate) async fn together(
        &self,
        batch: &[Work<H::Event>],
        stop: &CancellationToken,
    ) -> Together {
        let (mut delays, mut collisions) = (session_delays(), 0);
        loop {
            let setback = match self.process(batch).await {
                Ok(fates) => {
                    self.link(Link::up);
                    return Together::Done(fates);
                }
                Err(setback) => setback,
            };
            collisions += u32::from(is_collision(&setback));
            if collisions == COLLISIONS || !is_transient(&setback) {
                return Together::Apart;
            }
            if self.pause(&setback, delays.next(), stop).await.is_none() {
                return Together::Stopping;
            }
        }
    }

    /// Tries one message, to the end or to a failure of its own. `None`: the consumer stops.
    pub(crate) async fn alone(
        &self,
        work: &Work<H::Event>,
        stop: &CancellationToken,
    ) -> Option<Fate> {
        let _one_suspect = match work.suspect {
            true => Some(stop.run_until_cancelled(self.one_suspect.lock()).await?),
            false => None,
        };
        let (mut delays, mut starts) = (session_delays(), None);
        loop {
            match self.try_alone(work, &mut starts).await {
                Ok(fate) => {
                    self.link(Link::up);
                    return Some(fate);
                }
                Err(setback) => self.pause(&setback, delays.next(), stop).await?,
            }
        }
    }

    /// One try. The setbacks that leave here pass by themselves.
    async fn try_alone(
        &self,
        work: &Work<H::Event>,
        starts: &mut Option<u32>,
    ) -> Result<Fate, Setback> {
        if let Err(unreadable) = &work.read {
            return Ok(self.park(work, InTurn::Unknown, unreadable).await?);
        }
        if work.suspect
            && starts.is_none()
            && let Some(fate) = self.count_start(work, starts).await?
        {
            return Ok(fate);
        }
        match self.process(from_ref(work)).await {
            Ok(fates) => Ok(fates.into_iter().next().unwrap_or(Fate::Early)),
            Err(Setback::OtherBody) => Ok(self.park(work, InTurn::Unknown, &other_body()).await?),
            Err(Setback::Stale) => Ok(self.park_stale(work).await?),
            Err(Setback::Park(detail)) => {
                Ok(self.park(work, InTurn::Yes, &handler_failed(detail)).await?)
            }
            Err(Setback::Retry(detail)) => self.failed(work, starts, detail).await,
            Err(Setback::Database(error)) if !Failure::of(&error).is_transient() => {
                self.failed(work, starts, error.to_string()).await
            }
            Err(passing) => Err(passing),
        }
    }

    /// Commits that the handler is about to be started. A fate: it is not.
    async fn count_start(
        &self,
        work: &Work<H::Event>,
        starts: &mut Option<u32>,
    ) -> Result<Option<Fate>, Setback> {
        let consumer = self.options.consumer.as_str();
        // Its parking was the end of its count: a redelivery must not begin another one.
        if is_parked(&self.db, consumer, &work.delivery).await? {
            return Ok(Some(Fate::Duplicate));
        }
        match Turns::of(&self.db, consumer, from_ref(work)).await?.turns.as_slice() {
            [Turn::Early] => return Ok(Some(Fate::Early)),
            // It will not be started. If starts are counted, they were real ones.
            [Turn::Late] => return Ok(None),
            _ => {}
        }
        *starts = self.start(work).await?;
        match starts {
            Some(starts) if *starts > self.options.max_attempts => {
                let before = *starts - 1;
                let why = handler_failed(format!(
                    "the process ended while handling it: {before} starts of its handler did not come to an end"
                ));
                Ok(Some(self.park(work, InTurn::Yes, &why).await?))
            }
            _ => Ok(None),
        }
    }

    async fn start(&self, work: &Work<H::Event>) -> Result<Option<u32>, DbErr> {
        match work.message_id() {
            Some(message_id) => attempts::start(&self.db, &self.options.consumer, message_id).await,
            None => Ok(None),
        }
    }

    /// The handler failed: again later, or parked after the last try.
    async fn failed(
        &self,
        work: &Work<H::Event>,
        starts: &mut Option<u32>,
        detail: String,
    ) -> Result<Fate, Setback> {
        if starts.is_none() {
            // A first delivery is not counted beforehand: almost all of them succeed.
            *starts = self.start(work).await?;
        }
        let starts = starts.unwrap_or(1);
        if starts < self.options.max_attempts {
            return Ok(Fate::Failed { starts, detail });
        }
        Ok(self.park(work, InTurn::Yes, &handler_failed(detail)).await?)
    }

    async fn park(
        &self,
        work: &Work<H::Event>,
        in_turn: InTurn,
        why: &Unreadable,
    ) -> Result<Fate, DbErr> {
        let consumer = self.options.consumer.as_str();
        let parking = Parking { consumer, step: work.step.as_ref(), in_turn };
        match parking.park(&self.db, &work.delivery, why).await? {
            true => Ok(Fate::Parked),
            false => Ok(Fate::Duplicate),
        }
    }

    async fn park_stale(&self, work: &Work<H::Event>) -> Result<Fate, DbErr> {
        let consumer = self.options.consumer.as_str();
        if was_parked(&self.db, consumer, &work.delivery.message).await? {
            return Ok(Fate::Duplicate);
        }
        let detail = "a later version of its aggregate took effect while this one was tried again";
        let why = Unreadable { reason: Reason::Stale, detail: detail.to_owned() };
        self.park(work, InTurn::Unknown, &why).await
    }

    /// Waits before the same is tried again. `None`: the consumer stops.
    async fn pause(
        &self,
        setback: &Setback,
        delay: Option<Duration>,
        stop: &CancellationToken,
    ) -> Option<()> {
        match setback {
            Setback::Database(error) if Failure::of(error) == Failure::Contention => {
                tracing::debug!(%error, "the whole transaction again");
            }
            Setback::Database(error) => self.link(|link| link.down(error)),
            _ => tracing::debug!("overtaken by another consumer: the whole transaction again"),
        }
        sleep_or_stop(delay.unwrap_or(MAX_PAUSE), stop).await;
        (!stop.is_cancelled()).then_some(())
    }

    fn link(&self, change: impl FnOnce(&mut Link)) {
        change(&mut self.database_link.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn is_collision(setback: &Setback) -> bool {
    match setback {
        Setback::Overtaken => true,
        Setback::Database(error) => Failure::of(error) == Failure::Contention,
        _ => false,
    }
}

fn is_transient(setback: &Setback) -> bool {
    match setback {
        Setback::Database(error) => Failure::of(error).is_transient(),
        other => is_collision(other),
    }
}

fn handler_failed(detail: String) -> Unreadable {
    Unreadable { reason: Reason::HandlerFailed, detail }
}

fn other_body() -> Unreadable {
    Unreadable {
        reason: Reason::DuplicateIdOtherBody,
        detail: "this message_id was processed before, with another body".to_owned(),
    }
}
