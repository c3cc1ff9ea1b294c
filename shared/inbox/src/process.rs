//! The inbox transaction: inbox rows, effects and replies of some messages, all of them or none.

use std::panic::AssertUnwindSafe;

use crash_points::crash_point;
use database::begin_write;
use futures_util::FutureExt;
use sea_orm::DatabaseTransaction;

use crate::calls::tell_committed;
use crate::counts::Count;
use crate::parking::was_parked;
use crate::transaction::{Arrival, insert};
use crate::turns::{Turn, Turns};
use crate::work::{Fate, Readable, Setback, Work};
use crate::worker::Worker;
use crate::{Handler, InboxTransaction, Verdict, attempts, positions};

impl<H: Handler> Worker<H> {
    /// Handles readable messages, no two with one id, in their order. One that fails takes its
    /// neighbours' effects with it: the caller then tries each of them alone.
    pub(crate) async fn process(&self, batch: &[Work<H::Event>]) -> Result<Vec<Fate>, Setback> {
        let consumer = self.options.consumer.as_str();
        let tx = begin_write(&self.db).await?;
        let Turns { turns, moved } = Turns::of(&tx, consumer, batch).await?;
        let arrived = self.receive(&tx, batch, &turns).await?;

        let mut fates = Vec::with_capacity(batch.len());
        for ((work, turn), arrival) in batch.iter().zip(&turns).zip(arrived) {
            fates.push(match (arrival, turn, &work.read) {
                (None, ..) | (_, _, Err(_)) => Fate::Early,
                (Some(Arrival::OtherBody), ..) => return Err(Setback::OtherBody),
                (Some(Arrival::Duplicate), ..) => Fate::Duplicate,
                (Some(Arrival::First), Turn::Late, _) => self.drop_late(&tx, work).await?,
                (Some(Arrival::First), _, Ok(read)) => self.call_handler(&tx, read).await?,
            });
            if let (true, Some(message_id)) = (work.suspect, work.message_id()) {
                attempts::forget(&tx, consumer, message_id).await?;
            }
        }
        if !positions::advance(&tx, consumer, &moved).await? {
            return Err(Setback::Overtaken);
        }
        crash_point!("C15", "C21"); // COMMIT comes next
        InboxTransaction(tx).commit().await?;
        crash_point!("C16", "C22"); // committed, not acked: comes again, is a duplicate

        self.tell(batch, &turns, &fates);
        Ok(fates)
    }

    /// Writes the inbox rows of all but those that must wait.
    async fn receive(
        &self,
        tx: &DatabaseTransaction,
        batch: &[Work<H::Event>],
        turns: &[Turn],
    ) -> Result<Vec<Option<Arrival>>, Setback> {
        let received = batch.iter().zip(turns).map(|(work, turn)| match turn {
            Turn::Early => None,
            _ => work.read.as_ref().ok(),
        });
        let rows = received.clone().flatten().map(|read| (read.message_id, read.hash.as_str()));
        let rows: Vec<_> = rows.collect();
        let mut arrivals = insert(tx, &self.options.consumer, &rows).await?.into_iter();
        Ok(received.map(|read| read.and_then(|_| arrivals.next())).collect())
    }

    /// A late version has no effect any more. One that was being tried again is no straggler that
    /// the sender or the broker held up: its followers gave it up, and a person has to know.
    async fn drop_late(
        &self,
        tx: &DatabaseTransaction,
        work: &Work<H::Event>,
    ) -> Result<Fate, Setback> {
        let consumer = self.options.consumer.as_str();
        let tried = match work.message_id() {
            Some(message_id) => attempts::are_counted(tx, consumer, message_id).await?,
            None => false,
        };
        // An inbox row for a copy would make a duplicate of the parked one, which had no effect.
        if tried || was_parked(tx, consumer, &work.delivery.message).await? {
            return Err(Setback::Stale);
        }
        Ok(Fate::Stale)
    }

    async fn call_handler(
        &self,
        tx: &DatabaseTransaction,
        read: &Readable<H::Event>,
    ) -> Result<Fate, Setback> {
        crash_point!("C12", "C19"); // inbox row written: rolled back with everything else
        let handled = AssertUnwindSafe(self.handler.handle(tx, &read.event)).catch_unwind().await;
        match handled.unwrap_or_else(|_| Ok(Verdict::Retry("the handler panicked".to_owned())))? {
            Verdict::Ack => Ok(Fate::Processed),
            Verdict::Retry(detail) => Err(Setback::Retry(detail)),
            Verdict::Park(detail) => Err(Setback::Park(detail)),
        }
    }

    /// What is worth a line, once it is durable.
    fn tell(&self, batch: &[Work<H::Event>], turns: &[Turn], fates: &[Fate]) {
        for ((work, turn), fate) in batch.iter().zip(turns).zip(fates) {
            let message_id = work.message_id().map(tracing::field::display);
            let aggregate = work.step.as_ref().map(|step| step.aggregate.id.as_str());
            let version = work.version();
            if *turn == Turn::GapGivenUp && *fate == Fate::Processed {
                self.counts.add(Count::GapGivenUp);
                tracing::warn!(
                    message_id,
                    aggregate,
                    version,
                    "handled although an earlier version has not come"
                );
            }
            match fate {
                Fate::Stale => tracing::warn!(
                    message_id,
                    aggregate,
                    version,
                    "dropped: a later version has taken effect already"
                ),
                Fate::Duplicate => {
                    tracing::debug!(message_id, "duplicate: its effect is there already");
                }
                _ => {}
            }
        }
        if fates.contains(&Fate::Processed) {
            tell_committed(&self.handler);
        }
    }
}
