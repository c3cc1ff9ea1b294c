use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use database::Hint;
use sea_orm::{DatabaseConnection, DbErr};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::acks::Acks;
use super::store::{self, Leased};
use super::{HINT_CHANNEL, failed};
use crate::{Consumer, Delivery, Settle, Settlement, TransportError, TransportOptions};

/// The receiving end of a session. The database work runs in a task of its own ([`Session`]), so
/// that [`Consumer::next`] can be dropped at any time.
pub(super) struct SqlConsumer {
    deliveries: mpsc::Receiver<Result<Delivery, TransportError>>,
    _ends_the_session: DropGuard,
}

impl SqlConsumer {
    pub(super) fn start(
        db: DatabaseConnection,
        queue: &str,
        prefetch: u16,
        options: &TransportOptions,
    ) -> Self {
        let stop = CancellationToken::new();
        let hint = Hint::default();
        database::listen(&db, HINT_CHANNEL, hint.clone(), stop.clone());
        let prefetch = usize::from(prefetch.max(1));
        let (sender, deliveries) = mpsc::channel(prefetch);
        let token = uuid::Uuid::now_v7().to_string();
        let session = Session {
            acks: Acks::start(db.clone(), token.clone()),
            db,
            queue: queue.to_owned(),
            token,
            visibility: options.visibility_timeout,
            poll_interval: options.poll_interval,
            hint,
            free: Arc::new(Semaphore::new(prefetch)),
            sender,
        };
        tokio::spawn(session.run(stop.clone()));
        Self { deliveries, _ends_the_session: stop.drop_guard() }
    }
}

#[async_trait]
impl Consumer for SqlConsumer {
    async fn next(&mut self) -> Result<Delivery, TransportError> {
        self.deliveries.recv().await.unwrap_or_else(|| {
            Err(TransportError::SessionLost { reason: "the session has ended".to_owned() })
        })
    }
}

struct Session {
    acks: Acks,
    db: DatabaseConnection,
    queue: String,
    /// Identifies this session in the rows that it holds.
    token: String,
    visibility: Duration,
    poll_interval: Duration,
    hint: Hint,
    /// One permit for each delivery that may be outstanding.
    free: Arc<Semaphore>,
    sender: mpsc::Sender<Result<Delivery, TransportError>>,
}

impl Session {
    async fn run(self, stop: CancellationToken) {
        let ended = tokio::select! {
            ended = self.receive(&stop) => ended,
            ended = self.renew_leases() => ended,
            // A statement that takes longer than a lease has nothing left to give back.
            () = async { stop.cancelled().await; tokio::time::sleep(self.visibility).await } => Ok(()),
        };
        if let Err(error) = ended {
            let _ = self.sender.send(Err(failed("receiving")(error))).await;
        }
        // What we hold goes back at once. If this fails, the visibility time-out does it.
        let _ = store::release_all(&self.db, &self.queue, &self.token).await;
    }

    async fn receive(&self, stop: &CancellationToken) -> Result<(), DbErr> {
        loop {
            let Some(room) = stop.run_until_cancelled(self.room()).await else {
                return Ok(());
            };
            // Not given up when the session ends: the server would carry it out after we have given
            // everything back, and the messages would belong to nobody until the time-out.
            let leased =
                store::lease(&self.db, &self.queue, &self.token, self.visibility, room).await?;
            if leased.is_empty() {
                tokio::select! {
                    () = stop.cancelled() => return Ok(()),
                    () = self.hint.given() => {}
                    () = tokio::time::sleep(self.poll_interval) => {}
                }
            }
            for row in leased {
                self.deliver(row).await?;
            }
        }
    }

    /// Waits until at least one more delivery may be outstanding, and says how many may.
    async fn room(&self) -> usize {
        // Only this task takes permits, so what is free now stays free until it takes them.
        let one = self.free.acquire().await;
        drop(one);
        self.free.available_permits()
    }

    async fn deliver(&self, row: Leased) -> Result<(), DbErr> {
        // All deliveries but this one were given back.
        if row.delivery_limit > 0 && row.deliveries - 1 > row.delivery_limit {
            store::dead_letter(&self.db, row.id, &self.token, "delivery_limit").await?;
            return Ok(());
        }
        let Ok(permit) = self.free.clone().acquire_owned().await else {
            return Ok(());
        };
        let settle = SettleRow {
            acks: self.acks.clone(),
            db: self.db.clone(),
            id: row.id,
            token: self.token.clone(),
            _frees_its_place: permit,
        };
        let delivery = Delivery::new(row.message, row.deliveries > 1, Box::new(settle));
        // An error means that nobody listens any more: `run` is about to be stopped and gives it back.
        let _ = self.sender.send(Ok(delivery)).await;
        Ok(())
    }

    async fn renew_leases(&self) -> Result<(), DbErr> {
        // A third of the time-out: two renewals may be late before anybody else can take a message.
        let mut ticks = tokio::time::interval(self.visibility / 3);
        loop {
            ticks.tick().await;
            store::renew(&self.db, &self.queue, &self.token, self.visibility).await?;
        }
    }
}

struct SettleRow {
    acks: Acks,
    db: DatabaseConnection,
    id: i64,
    token: String,
    _frees_its_place: OwnedSemaphorePermit,
}

#[async_trait]
impl Settle for SettleRow {
    async fn settle(self: Box<Self>, settlement: Settlement) -> Result<(), TransportError> {
        let ours = match settlement {
            Settlement::Ack => return self.acks.ack(self.id).await.and_then(held),
            Settlement::Requeue => store::requeue(&self.db, self.id, &self.token).await,
            Settlement::DeadLetter => {
                store::dead_letter(&self.db, self.id, &self.token, "rejected").await
            }
        };
        ours.map_err(failed("settling a delivery")).and_then(held)
    }
}

fn held(ours: bool) -> Result<(), TransportError> {
    ours.then_some(()).ok_or_else(|| TransportError::SessionLost {
        reason: "the lease on the message has ended; it will come again".to_owned(),
    })
}
