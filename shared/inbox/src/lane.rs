//! A lane handles its messages one batch after another. All messages of one aggregate share a lane.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use crash_points::crash_point;
use futures_util::future::try_join_all;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use transport::{Delivery, Settlement, TransportError};

use crate::Handler;
use crate::counts::Count;
use crate::waiting_room::WaitingRoom;
use crate::work::{Fate, Work};
use crate::worker::{Together, Worker};

pub(crate) struct Lane<H: Handler> {
    worker: Arc<Worker<H>>,
    deliveries: mpsc::UnboundedReceiver<Delivery>,
    stop: CancellationToken,
    /// What may be tried now, in the order of the queue.
    ready: VecDeque<Work<H::Event>>,
    /// Failed messages, and when they are tried again. Their neighbours flow.
    aside: Vec<(Instant, Work<H::Event>)>,
    waiting: WaitingRoom<H::Event>,
}

impl<H: Handler> Lane<H> {
    pub(crate) fn new(
        worker: Arc<Worker<H>>,
        deliveries: mpsc::UnboundedReceiver<Delivery>,
        stop: CancellationToken,
    ) -> Self {
        let waiting = WaitingRoom::new(worker.options.gap_wait.unwrap_or_default());
        Self { worker, deliveries, stop, ready: VecDeque::new(), aside: vec![], waiting }
    }

    /// Runs until `stop`, or until the deliveries have ended and each was tried. It finishes the
    /// transaction in hand; what is unsettled then goes back with the session.
    pub(crate) async fn run(mut self) -> Result<(), TransportError> {
        while !self.stop.is_cancelled() {
            self.take_due();
            while let Ok(delivery) = self.deliveries.try_recv() {
                self.receive(delivery);
            }
            match self.next_batch() {
                Some(batch) => self.handle(batch).await?,
                None if self.wait().await => {}
                None => break,
            }
        }
        Ok(())
    }

    fn receive(&mut self, delivery: Delivery) {
        crash_point!("C11", "C18"); // received: the broker delivers it again
        let ordered = self.worker.options.gap_wait.is_some();
        self.ready.push_back(Work::new(&self.worker.handler, ordered, delivery));
    }

    /// Waits for something to do. False: there will be nothing more.
    async fn wait(&mut self) -> bool {
        let due = self.aside.iter().map(|(due, _)| *due).chain(self.waiting.look_again()).min();
        tokio::select! {
            () = self.stop.cancelled() => false,
            delivery = self.deliveries.recv() => match delivery {
                Some(delivery) => {
                    self.receive(delivery);
                    true
                }
                None => false,
            },
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => true,
        }
    }

    fn take_due(&mut self) {
        let now = Instant::now();
        self.ready.extend(self.aside.extract_if(.., |(due, _)| *due <= now).map(|(_, work)| work));
        let in_hand = self.aside.iter().map(|(_, work)| work).chain(&self.ready);
        let held: HashSet<_> = in_hand
            .filter(|work| work.suspect)
            .filter_map(|work| work.step.as_ref())
            .map(|step| &step.aggregate)
            .collect();
        let due = self.waiting.take_due(now, &held);
        self.put_first(due);
    }

    fn put_first(&mut self, works: Vec<Work<H::Event>>) {
        for work in works.into_iter().rev() {
            self.ready.push_front(work);
        }
    }

    /// What is ready and may share a transaction, in the order of the queue.
    fn next_batch(&mut self) -> Option<Vec<Work<H::Event>>> {
        let mut batch = vec![self.ready.pop_front()?];
        while !batch[0].is_solitary() && batch.len() < self.worker.options.batch {
            let fits = |next: &mut Work<H::Event>| {
                // A copy waits for the transaction after: there it is a duplicate.
                let is_copy = batch.iter().any(|work| work.message_id() == next.message_id());
                !next.is_solitary() && !is_copy
            };
            match self.ready.pop_front_if(fits) {
                Some(next) => batch.push(next),
                None => break,
            }
        }
        Some(batch)
    }

    async fn handle(&mut self, mut batch: Vec<Work<H::Event>>) -> Result<(), TransportError> {
        if batch.len() > 1 {
            match self.worker.together(&batch, &self.stop).await {
                Together::Done(fates) => {
                    let ended = batch.into_iter().zip(fates);
                    let ended: Vec<_> =
                        ended.filter_map(|(work, fate)| self.end(work, fate)).collect();
                    return ack(ended).await;
                }
                Together::Stopping => return Ok(()),
                Together::Apart => {}
            }
        }
        for work in batch.drain(..) {
            match self.worker.alone(&work, &self.stop).await {
                Some(fate) => ack(self.end(work, fate)).await?,
                None => return Ok(()), // stopping: the rest goes back with the session
            }
        }
        Ok(())
    }

    /// Takes note of what became of a message. Its delivery, if it is to be acknowledged.
    fn end(&mut self, work: Work<H::Event>, fate: Fate) -> Option<Delivery> {
        let count = match fate {
            Fate::Early => {
                self.waiting.put(work);
                return None;
            }
            Fate::Failed { starts, detail } => {
                self.set_aside(work, starts, &detail);
                return None;
            }
            Fate::Processed => Count::Processed,
            Fate::Duplicate => Count::Duplicate,
            Fate::Stale => Count::Stale,
            Fate::Parked => Count::Parked,
        };
        self.worker.counts.add(count);
        let followers = self.waiting.take_followers(&work);
        self.put_first(followers);
        Some(work.delivery)
    }

    fn set_aside(&mut self, mut work: Work<H::Event>, starts: u32, detail: &str) {
        tracing::debug!(starts, "handler failed: {detail}");
        self.worker.counts.add(Count::Retried);
        let delay = self.worker.options.delay_after(starts);
        work.suspect = true;
        self.aside.push((Instant::now() + delay, work));
    }
}

/// Only now: an ack before the commit loses the message when the process dies in between.
async fn ack(ended: impl IntoIterator<Item = Delivery>) -> Result<(), TransportError> {
    // At the same time: what is acknowledged together may cost one wait for the disk.
    let acks = ended.into_iter().map(|delivery| delivery.settle(Settlement::Ack));
    if !try_join_all(acks).await?.is_empty() {
        crash_point!("C17", "C23"); // done
    }
    Ok(())
}
