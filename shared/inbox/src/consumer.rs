//! Around the inbox transaction: sessions on the queue, and lanes that share the deliveries.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use database::Dialect;
use sea_orm::DatabaseConnection;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use transport::{Delivery, Link, LinkState, Transport, TransportError};

use crate::aggregate::lane_of;
use crate::lane::Lane;
use crate::worker::Worker;
use crate::{ConsumerCounts, Handler, dead_letters};

/// How a consumer works.
#[derive(Debug, Clone)]
pub struct ConsumerOptions {
    /// Its name in the inbox. Never change it: with a new name, everything is new.
    pub consumer: String,
    /// The queue that it reads.
    pub queue: String,
    /// Deliveries in hand at most. When the process dies, the broker counts all of them as delivered.
    pub prefetch: u16,
    /// Messages in one transaction at most, if that many are there. Never more than the prefetch.
    pub batch: usize,
    /// Transactions at the same time, each on a connection of its own. Messages of one aggregate
    /// (header `aggregate-id`) never are in two of them. On SQLite it is 1: there is one writer.
    pub concurrency: usize,
    /// Starts of a message's handler without success, before it is parked; by failure, or with the
    /// process. They are counted in the database.
    pub max_attempts: u32,
    /// The wait before the second try; it doubles at each further one.
    pub retry_delay: Duration,
    /// Keeps the order of each aggregate by version (headers `aggregate-id`, `aggregate-version` and,
    /// if there is one, `aggregate-type`): a version that comes early waits so long for those
    /// before it, and one that comes late is dropped. Only for a queue that gets **all** versions.
    /// Make it longer than [`retries_take`](Self::retries_take), and than a broker needs to notice
    /// that a consumer has vanished: a version in another consumer's hands is not lost.
    /// `None`: messages are handled as they come.
    pub gap_wait: Option<Duration>,
}

impl ConsumerOptions {
    /// Prefetch 100; batches of 50, one at a time; five tries with 1, 2, 4 and 8 seconds between
    /// them; no order by version.
    #[must_use]
    pub fn new(consumer: &str, queue: &str) -> Self {
        Self {
            consumer: consumer.to_owned(),
            queue: queue.to_owned(),
            prefetch: 100,
            batch: 50,
            concurrency: 1,
            max_attempts: 5,
            retry_delay: Duration::from_secs(1),
            gap_wait: None,
        }
    }

    /// How long a message that fails at each try waits between them, in all.
    #[must_use]
    pub fn retries_take(&self) -> Duration {
        let waits = self.max_attempts.saturating_sub(1);
        let doubling = waits.min(LAST_DOUBLING);
        let sum = (1..=doubling)
            .fold(Duration::ZERO, |sum, starts| sum.saturating_add(self.delay_after(starts)));
        sum.saturating_add(self.delay_after(waits).saturating_mul(waits - doubling))
    }

    /// The wait after so many starts.
    pub(crate) fn delay_after(&self, starts: u32) -> Duration {
        let doubled = 2u32.saturating_pow(starts.saturating_sub(1));
        self.retry_delay.saturating_mul(doubled).min(LONGEST_DELAY)
    }
}

/// Between two tries. A later instant could not be represented.
const LONGEST_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

/// After so many starts the wait grows no more.
const LAST_DOUBLING: u32 = u32::BITS + 1;

/// What health checks may watch.
#[derive(Debug, Clone)]
pub struct ConsumerHealth {
    /// The broker's session.
    pub broker: watch::Receiver<LinkState>,
    /// The database.
    pub database: watch::Receiver<LinkState>,
}

/// Reads one queue and gives its messages to a [`Handler`], each with effect once.
pub struct Consumer<H> {
    worker: Arc<Worker<H>>,
    transport: Arc<dyn Transport>,
    broker_link: Link,
    database: watch::Receiver<LinkState>,
}

/// How many messages a session takes at a time.
///
/// A session may have been lost over a message that the client library can't even parse: then it
/// will be lost again, and each time the broker charges all unsettled messages with a delivery. One
/// by one, only the culprit is charged, and is dead-lettered at its limit; its neighbours are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    Full,
    /// After a lost session, until one message has come through.
    OneByOne,
}

impl<H: Handler> Consumer<H> {
    /// Makes a consumer; it connects to nothing yet.
    pub fn new(
        db: DatabaseConnection,
        transport: Arc<dyn Transport>,
        handler: H,
        options: ConsumerOptions,
    ) -> Self {
        let link = Link::new("database");
        let database = link.watch();
        let worker = Worker {
            db,
            handler,
            options,
            counts: ConsumerCounts::default(),
            database_link: Mutex::new(link),
            one_suspect: tokio::sync::Mutex::default(),
        };
        let broker_link = Link::new("broker");
        Self { worker: Arc::new(worker), transport, broker_link, database }
    }

    /// What health checks may watch.
    #[must_use]
    pub fn health(&self) -> ConsumerHealth {
        ConsumerHealth { broker: self.broker_link.watch(), database: self.database.clone() }
    }

    /// What it does, in numbers.
    #[must_use]
    pub fn counts(&self) -> ConsumerCounts {
        self.worker.counts.clone()
    }

    /// Runs until `shutdown`, then finishes the transactions in hand; the rest goes back to the
    /// broker. Survives the loss of broker and database. Drains the queue's dead letters into the
    /// same table.
    pub async fn run(mut self, shutdown: CancellationToken) {
        let options = &self.worker.options;
        dead_letters::drain(&self.worker.db, &self.transport, options, shutdown.clone());
        let mut delays = session_delays();
        let mut pace = Pace::Full;
        while !shutdown.is_cancelled() {
            let prefetch = match pace {
                Pace::Full => self.worker.options.prefetch,
                Pace::OneByOne => 1,
            };
            let transport = self.transport.clone();
            let ended = match transport.consumer(&self.worker.options.queue, prefetch).await {
                Ok(session) => {
                    self.broker_link.up();
                    delays = session_delays();
                    self.consume(session, pace, &shutdown).await
                }
                Err(error) => Err(error),
            };
            pace = Pace::Full;
            if let Err(error) = ended {
                self.broker_link.down(&error.one_line());
                sleep_or_stop(delays.next().unwrap_or(MAX_PAUSE), &shutdown).await;
                pace = Pace::OneByOne;
            }
        }
    }

    /// One session, to its end. It outlives its lanes, so that what they have committed is acked.
    async fn consume(
        &self,
        mut session: Box<dyn transport::Consumer>,
        pace: Pace,
        shutdown: &CancellationToken,
    ) -> Result<(), TransportError> {
        let stop = shutdown.child_token();
        let mut lanes = Lanes::start(&self.worker, &stop);
        let mut ended = lanes.feed(&mut *session, pace, &stop).await;
        if ended.is_err() {
            stop.cancel();
        }
        lanes.deliveries.clear(); // no more will come: each lane tries what it has, and ends
        while let Some(lane) = lanes.running.join_next().await {
            ended = ended.and(outcome(lane));
        }
        ended
    }
}

/// The lanes of one session.
struct Lanes {
    deliveries: Vec<mpsc::UnboundedSender<Delivery>>,
    running: JoinSet<Result<(), TransportError>>,
}

impl Lanes {
    fn start<H: Handler>(worker: &Arc<Worker<H>>, stop: &CancellationToken) -> Self {
        let count = match Dialect::of(&worker.db) {
            Dialect::Sqlite => 1,
            Dialect::Postgres => worker.options.concurrency.max(1),
        };
        let mut lanes = Self { deliveries: vec![], running: JoinSet::new() };
        for _ in 0..count {
            // The prefetch is its bound.
            let (sender, deliveries) = mpsc::unbounded_channel();
            lanes.deliveries.push(sender);
            lanes.running.spawn(Lane::new(worker.clone(), deliveries, stop.clone()).run());
        }
        lanes
    }

    /// Hands out deliveries until the session is lost or the consumer stops.
    async fn feed(
        &mut self,
        session: &mut dyn transport::Consumer,
        pace: Pace,
        stop: &CancellationToken,
    ) -> Result<(), TransportError> {
        loop {
            let delivery = tokio::select! {
                () = stop.cancelled() => return Ok(()),
                // Before it is told to, a lane ends when it can't settle.
                Some(lane) = self.running.join_next() => return outcome(lane),
                delivery = session.next() => delivery?,
            };
            let lane = lane_of(&delivery.message, self.deliveries.len());
            // A lane that has ended is noticed above.
            let _ = self.deliveries[lane].send(delivery);
            if pace == Pace::OneByOne {
                return Ok(()); // when it has come through: on with a full session
            }
        }
    }
}

/// A panic outside of the handler is a mistake of ours, and ends the consumer.
fn outcome(lane: Result<Result<(), TransportError>, JoinError>) -> Result<(), TransportError> {
    match lane {
        Ok(ended) => ended,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Ok(()),
    }
}

/// Between two sessions, and between two tries while the database is away.
pub(crate) const MAX_PAUSE: Duration = Duration::from_secs(2);

pub(crate) fn session_delays() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(50))
        .with_max_delay(MAX_PAUSE)
        .with_jitter()
        .without_max_times()
        .build()
}

pub(crate) async fn sleep_or_stop(delay: Duration, shutdown: &CancellationToken) {
    let _ = shutdown.run_until_cancelled(tokio::time::sleep(delay)).await;
}
