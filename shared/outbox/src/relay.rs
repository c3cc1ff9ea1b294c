//! The relay: moves committed rows from the outbox to the broker.
//!
//! Run as many as you like, in one process or in many. Each pass claims a batch under a lease,
//! publishes all of it, waits for every confirm, and writes back what it learned (`batch.rs`). While
//! one batch is being confirmed, the next is claimed. A pass that dies anywhere leaves rows that are
//! claimed; their lease ends and another pass publishes them, perhaps for the second time. The
//! receiver's inbox makes that harmless; nothing else could.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBuilder};
use database::Hint;
use sea_orm::{DatabaseConnection, DbErr};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use transport::{Link, LinkState, Publisher, Transport, TransportError};

use crate::batch::{Batch, Relayed};
use crate::claim::{self, Claim};
use crate::desk::{Desk, Ticket};
use crate::lease::Lease;
use crate::look::Look;
use crate::rows::Rows;
use crate::{Coordination, InvalidRelayOptions, RelayOptions, RelayTotals};

/// What a pass did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// Nothing was due.
    Idle,
    /// Another relay leads ([`Coordination::Leader`]).
    Standby,
    /// So many rows were claimed, and so many of them are sent.
    Moved {
        /// Rows claimed.
        claimed: usize,
        /// Rows that the broker confirmed and that were marked.
        sent: usize,
    },
}

/// Why a pass failed. The relay tries again for ever; this is for its log and its health.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The broker.
    #[error("{}", .0.one_line())]
    Broker(#[source] TransportError),
    /// The database.
    #[error("{0}")]
    Database(#[from] DbErr),
}

/// What health checks may watch.
#[derive(Debug, Clone)]
pub struct RelayHealth {
    /// The broker's session.
    pub broker: watch::Receiver<LinkState>,
    /// The outbox's database.
    pub database: watch::Receiver<LinkState>,
}

/// Moves the rows of one outbox to one broker.
pub struct Relay {
    desk: Arc<Desk>,
    transport: Arc<dyn Transport>,
    publisher: Option<Arc<dyn Publisher>>,
    hint: Hint,
    leadership: Lease,
    leading: bool,
    /// A leader waits until then: its first row has failed.
    not_before: Instant,
    look: Look,
    broker_link: Link,
    database_link: Link,
}

/// What a look into the outbox found.
enum Found {
    Nothing,
    Standby,
    Batch(Batch),
}

impl Relay {
    /// Makes a relay; it connects to nothing yet.
    ///
    /// # Errors
    /// An option is out of its range.
    pub fn new(
        db: DatabaseConnection,
        transport: Arc<dyn Transport>,
        options: RelayOptions,
    ) -> Result<Self, InvalidRelayOptions> {
        options.validate()?;
        Ok(Self {
            leadership: Lease::new("leader", &options.owner),
            desk: Arc::new(Desk {
                db,
                options,
                totals: RelayTotals::default(),
                told: Mutex::default(),
            }),
            transport,
            publisher: None,
            hint: Hint::default(),
            leading: false,
            not_before: Instant::now(),
            look: Look::default(),
            broker_link: Link::new("broker"),
            database_link: Link::new("database"),
        })
    }

    /// Raise it after a commit in this same process, and the relay looks at once.
    #[must_use]
    pub fn hint(&self) -> Hint {
        self.hint.clone()
    }

    /// What health checks may watch.
    #[must_use]
    pub fn health(&self) -> RelayHealth {
        RelayHealth { broker: self.broker_link.watch(), database: self.database_link.watch() }
    }

    /// What it has counted, for metrics.
    #[must_use]
    pub fn totals(&self) -> RelayTotals {
        self.desk.totals.clone()
    }

    /// Runs until `shutdown`, then finishes the batches in hand. Survives the loss of broker and database.
    pub async fn run(mut self, shutdown: CancellationToken) {
        let db = self.desk.db.clone();
        database::listen(&db, crate::HINT_CHANNEL, self.hint.clone(), shutdown.clone());
        let mut batches = JoinSet::new();
        let mut delays = outage_delays();
        while !shutdown.is_cancelled() {
            let looked = match self.look().await {
                Ok(Found::Batch(batch)) => {
                    let full = batch.is_full();
                    batches.spawn(batch.relay());
                    if full && self.may_claim(&batches) {
                        continue; // the next, while this one is being confirmed
                    }
                    self.wait(&mut batches, &shutdown).await
                }
                Ok(Found::Nothing | Found::Standby) => {
                    delays = outage_delays();
                    self.wait(&mut batches, &shutdown).await
                }
                Err(error) => Err(error),
            };
            match looked {
                Ok(Some(_)) => delays = outage_delays(),
                Ok(None) => {}
                Err(error) => {
                    self.note(&error);
                    let delay = delays.next().unwrap_or(self.desk.options.poll_interval);
                    let _ = shutdown.run_until_cancelled(tokio::time::sleep(delay)).await;
                }
            }
        }
        while let Some(ended) = batches.join_next().await {
            if let Err(error) = self.finish(relayed(ended)) {
                self.note(&error);
            }
        }
        self.resign().await;
    }

    /// Waits for a reason to look again. A batch that has ended is one: it makes room, and the rows
    /// behind its own are heads now.
    async fn wait(
        &mut self,
        batches: &mut JoinSet<Relayed>,
        shutdown: &CancellationToken,
    ) -> Result<Option<Pass>, RelayError> {
        let may_claim = self.may_claim(batches);
        tokio::select! {
            () = shutdown.cancelled() => Ok(None),
            Some(ended) = batches.join_next() => self.finish(relayed(ended)).map(Some),
            () = self.hint.given(), if may_claim => Ok(None), // kept if it came while nobody waited
            () = tokio::time::sleep(self.desk.options.poll_interval), if may_claim => Ok(None), // the truth
        }
    }

    fn may_claim(&self, batches: &JoinSet<Relayed>) -> bool {
        batches.len() < self.desk.options.in_flight()
    }

    /// One pass: session, claim, publish, write back. Public so that tests can take single steps.
    ///
    /// # Errors
    /// Broker or database are away. Nothing is lost by it; call again.
    pub async fn run_once(&mut self) -> Result<Pass, RelayError> {
        match self.look().await? {
            Found::Nothing => Ok(Pass::Idle),
            Found::Standby => Ok(Pass::Standby),
            Found::Batch(batch) => {
                let relayed = batch.relay().await;
                self.finish(relayed)
            }
        }
    }

    /// Claims what may be published next.
    async fn look(&mut self) -> Result<Found, RelayError> {
        // Before the claim: during an outage nothing is claimed, so no row pays for it.
        let publisher = self.session().await?;
        let ticket = Ticket { token: uuid::Uuid::now_v7().to_string(), claimed_at: Instant::now() };
        let (db, claim) = (self.desk.db.clone(), self.claim(&ticket));
        let coordination = self.desk.options.coordination;
        let rows = match coordination {
            Coordination::Shared => self.look.claim(&db, &claim).await?,
            Coordination::Leader if !self.lead().await? => return Ok(Found::Standby),
            Coordination::Leader if Instant::now() < self.not_before => Rows::default(),
            Coordination::Leader => claim::front(&db, &claim, self.leadership.token()).await?,
        };
        self.database_link.up();
        if rows.is_empty() {
            return Ok(Found::Nothing);
        }
        self.desk.totals.claimed(rows.len());
        Ok(Found::Batch(Batch { desk: self.desk.clone(), publisher, ticket, rows }))
    }

    /// Takes note of what became of a batch.
    fn finish(&mut self, relayed: Relayed) -> Result<Pass, RelayError> {
        let written = relayed.written.map(|written| {
            self.not_before = Instant::now() + written.wait.unwrap_or_default();
            usize::try_from(written.sent).unwrap_or(usize::MAX)
        });
        // Another batch may have told already, and a new session may be at work.
        let is_ours =
            self.publisher.as_ref().is_some_and(|now| Arc::ptr_eq(now, &relayed.publisher));
        match relayed.lost {
            Some(error) if is_ours => {
                self.publisher = None;
                if let Err(error) = written {
                    self.database_link.down(&error);
                }
                Err(RelayError::Broker(error))
            }
            _ => Ok(Pass::Moved { claimed: relayed.claimed, sent: written? }),
        }
    }

    async fn session(&mut self) -> Result<Arc<dyn Publisher>, RelayError> {
        let publisher = match self.publisher.take() {
            Some(publisher) => publisher.check().await.map(|()| publisher),
            None => self.transport.publisher().await.map(Arc::from),
        };
        let publisher = publisher.map_err(RelayError::Broker)?;
        self.broker_link.up();
        Ok(self.publisher.insert(publisher).clone())
    }

    /// Takes or keeps the leadership. Says so when that changes.
    async fn lead(&mut self) -> Result<bool, DbErr> {
        let leads = self.leadership.take(&self.desk.db, self.desk.options.lease).await?;
        if std::mem::replace(&mut self.leading, leads) != leads {
            match leads {
                true => tracing::info!("leading: this relay publishes, the others stand by"),
                false => tracing::warn!("standing by: another relay has taken the lead"),
            }
        }
        Ok(leads)
    }

    /// Lets the next leader begin at once.
    async fn resign(&mut self) {
        if std::mem::take(&mut self.leading)
            && let Err(error) = self.leadership.give_back(&self.desk.db).await
        {
            tracing::debug!(%error, "leadership not given back: it ends by itself");
        }
    }

    fn claim<'a>(&self, ticket: &'a Ticket) -> Claim<'a> {
        let options = &self.desk.options;
        Claim {
            owner: options.owner.clone(),
            token: &ticket.token,
            lease: options.lease,
            limit: options.batch_size,
            dead_letters: options.dead_letters,
        }
    }

    fn note(&mut self, error: &RelayError) {
        match error {
            RelayError::Broker(_) => self.broker_link.down(error),
            RelayError::Database(_) => self.database_link.down(error),
        }
    }
}

/// A panic in a batch is one of ours.
fn relayed(ended: Result<Relayed, tokio::task::JoinError>) -> Relayed {
    ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

/// From a tenth of a second to one: a broker that is back should not wait for us.
fn outage_delays() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(100))
        .with_max_delay(Duration::from_millis(500))
        .with_jitter() // up to as much again
        .without_max_times()
        .build()
}
