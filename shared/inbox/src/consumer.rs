//! What happens around the inbox transaction: receive, decode, retry, park, acknowledge.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use crash_points::crash_point;
use database::Failure;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use sea_orm::{DatabaseConnection, DbErr};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use transport::{
    Delivery, InvalidMessageId, Link, LinkState, Message, MessageId, Settlement, Transport,
    TransportError,
};

use crate::parking::park;
use crate::{Handler, Reason, Receipt, Unreadable, Verdict, begin, dead_letters};

/// How a consumer works.
#[derive(Debug, Clone)]
pub struct ConsumerOptions {
    /// Its name in the inbox. Never change it: with a new name, everything is new.
    pub consumer: String,
    /// The queue that it reads.
    pub queue: String,
    /// Deliveries in hand at most. When the process dies, the broker counts all of them as delivered.
    pub prefetch: u16,
    /// Tries for a message whose handler fails, before it is parked.
    pub max_attempts: u32,
    /// The wait before the second try; it doubles at each further one.
    pub retry_delay: Duration,
}

impl ConsumerOptions {
    /// Prefetch 50; five tries with 1, 2, 4 and 8 seconds between them.
    #[must_use]
    pub fn new(consumer: &str, queue: &str) -> Self {
        Self {
            consumer: consumer.to_owned(),
            queue: queue.to_owned(),
            prefetch: 50,
            max_attempts: 5,
            retry_delay: Duration::from_secs(1),
        }
    }
}

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
    db: DatabaseConnection,
    transport: Arc<dyn Transport>,
    handler: H,
    options: ConsumerOptions,
    broker_link: Link,
    database_link: Link,
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

/// What a try came to.
enum Outcome {
    Processed,
    Duplicate,
    Parked,
    Failed(String),
}

/// A delivery whose handler has failed `failures` times so far.
struct Attempt {
    delivery: Delivery,
    failures: u32,
}

impl<H: Handler> Consumer<H> {
    /// Makes a consumer; it connects to nothing yet.
    pub fn new(
        db: DatabaseConnection,
        transport: Arc<dyn Transport>,
        handler: H,
        options: ConsumerOptions,
    ) -> Self {
        Self {
            db,
            transport,
            handler,
            options,
            broker_link: Link::new("broker"),
            database_link: Link::new("database"),
        }
    }

    /// What health checks may watch.
    #[must_use]
    pub fn health(&self) -> ConsumerHealth {
        ConsumerHealth { broker: self.broker_link.watch(), database: self.database_link.watch() }
    }

    /// Runs until `shutdown`, then finishes the message in hand; the rest goes back to the broker.
    /// Survives the loss of broker and database. Drains the queue's dead letters into the same table.
    pub async fn run(mut self, shutdown: CancellationToken) {
        dead_letters::drain(&self.db, &self.transport, &self.options, shutdown.clone());
        let mut delays = session_delays();
        let mut pace = Pace::Full;
        while !shutdown.is_cancelled() {
            let prefetch = match pace {
                Pace::Full => self.options.prefetch,
                Pace::OneByOne => 1,
            };
            let transport = self.transport.clone();
            let ended = match transport.consumer(&self.options.queue, prefetch).await {
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

    /// One session, to its end. Failed messages wait aside, so that their neighbours flow.
    async fn consume(
        &mut self,
        mut session: Box<dyn transport::Consumer>,
        pace: Pace,
        shutdown: &CancellationToken,
    ) -> Result<(), TransportError> {
        let mut waiting: FuturesUnordered<BoxFuture<'static, Attempt>> = FuturesUnordered::new();
        loop {
            let attempt = tokio::select! {
                () = shutdown.cancelled() => return Ok(()),
                Some(attempt) = waiting.next() => attempt,
                delivery = session.next() => Attempt { delivery: delivery?, failures: 0 },
            };
            let failed = self.attempt(attempt, shutdown).await?;
            if pace == Pace::OneByOne {
                return Ok(()); // one message came through: on with a full session
            }
            if let Some(failed) = failed {
                let delay = self.options.retry_delay * 2u32.saturating_pow(failed.failures - 1);
                waiting.push(Box::pin(async move {
                    tokio::time::sleep(delay).await;
                    failed
                }));
            }
        }
    }

    /// One try. Settles the delivery unless the handler failed and may try again.
    async fn attempt(
        &mut self,
        mut attempt: Attempt,
        shutdown: &CancellationToken,
    ) -> Result<Option<Attempt>, TransportError> {
        match self.with_database(&attempt, shutdown).await {
            None => return Ok(None), // stopping: it goes back with the session
            Some(Outcome::Failed(detail)) => {
                attempt.failures += 1;
                tracing::debug!(attempt.failures, "handler failed: {detail}");
                return Ok(Some(attempt));
            }
            Some(Outcome::Processed) => self.handler.committed(),
            Some(Outcome::Duplicate) => {
                let message_id = attempt.delivery.message.properties.message_id.as_deref();
                tracing::debug!(message_id, "duplicate: its effect is there already");
            }
            Some(Outcome::Parked) => {}
        }
        // Only now: an ack before the commit loses the message when the process dies in between.
        attempt.delivery.settle(Settlement::Ack).await?;
        crash_point!("C17", "C23"); // done
        Ok(None)
    }

    /// Tries until the database takes part. Its outages cost the message nothing: the consumer waits
    /// in place, so that the order is kept and the broker counts no delivery. `None`: stopping.
    async fn with_database(
        &mut self,
        attempt: &Attempt,
        shutdown: &CancellationToken,
    ) -> Option<Outcome> {
        let mut delays = session_delays();
        loop {
            let error = match self.process_or_give_up(attempt).await {
                Ok(outcome) => {
                    self.database_link.up();
                    return Some(outcome);
                }
                Err(error) => error,
            };
            match Failure::of(&error) {
                Failure::Contention => tracing::debug!(%error, "the whole transaction again"),
                _ => self.database_link.down(&error),
            }
            sleep_or_stop(delays.next().unwrap_or(MAX_PAUSE), shutdown).await;
            if shutdown.is_cancelled() {
                return None;
            }
        }
    }

    /// [`Self::process`], and the end of a message that has failed too often. Errors are transient.
    async fn process_or_give_up(&self, attempt: &Attempt) -> Result<Outcome, DbErr> {
        let detail = match self.process(&attempt.delivery).await {
            Ok(Outcome::Failed(detail)) => detail,
            Err(error) if !Failure::of(&error).is_transient() => error.to_string(),
            other => return other,
        };
        if attempt.failures + 1 < self.options.max_attempts {
            return Ok(Outcome::Failed(detail));
        }
        let why = Unreadable { reason: Reason::HandlerFailed, detail };
        self.park(&attempt.delivery, &why).await
    }

    /// The inbox transaction.
    async fn process(&self, delivery: &Delivery) -> Result<Outcome, DbErr> {
        crash_point!("C11", "C18"); // received: the broker delivers it again
        let message = &delivery.message;
        let (message_id, event) = match self.read(message) {
            Ok(read) => read,
            Err(unreadable) => return self.park(delivery, &unreadable).await,
        };
        let tx = match begin(&self.db, &self.options.consumer, message_id, &message.body).await? {
            Receipt::First(tx) => tx,
            Receipt::Duplicate => return Ok(Outcome::Duplicate),
            Receipt::OtherBody => return self.park(delivery, &other_body()).await,
        };
        crash_point!("C12", "C19"); // inbox row written: rolled back with everything else
        let handled = AssertUnwindSafe(self.handler.handle(&tx, &event)).catch_unwind().await;
        match handled.unwrap_or_else(|_| Ok(Verdict::Retry("the handler panicked".to_owned())))? {
            Verdict::Ack => {
                crash_point!("C15", "C21"); // COMMIT comes next
                tx.commit().await?;
                crash_point!("C16", "C22"); // committed, not acked: comes again, is a duplicate
                Ok(Outcome::Processed)
            }
            Verdict::Retry(detail) => Ok(Outcome::Failed(detail)), // dropping `tx` rolls back
            Verdict::Park(detail) => {
                drop(tx);
                let why = Unreadable { reason: Reason::HandlerFailed, detail };
                self.park(delivery, &why).await
            }
        }
    }

    fn read(&self, message: &Message) -> Result<(MessageId, H::Event), Unreadable> {
        let message_id = message.properties.message_id.as_deref().unwrap_or_default();
        let message_id = message_id.parse().map_err(|error: InvalidMessageId| Unreadable {
            reason: Reason::MalformedMessageId,
            detail: format!("message_id: {error}"),
        })?;
        Ok((message_id, self.handler.decode(message)?))
    }

    async fn park(&self, delivery: &Delivery, why: &Unreadable) -> Result<Outcome, DbErr> {
        park(&self.db, &self.options.consumer, delivery, why).await?;
        Ok(Outcome::Parked)
    }
}

fn other_body() -> Unreadable {
    Unreadable {
        reason: Reason::DuplicateIdOtherBody,
        detail: "this message_id was processed before, with another body".to_owned(),
    }
}

/// Between two sessions, and between two tries while the database is away.
const MAX_PAUSE: Duration = Duration::from_secs(2);

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
