//! The consumer of the textbooks: receive, begin, inbox row, effect, commit, acknowledge. One message at
//! a time, on [`inbox::begin`], with each protection where a mistake can take its place.

use std::sync::Arc;
use std::time::Duration;

use crash_points::crash_point;
use inbox::{Handler, InboxTransaction, Receipt, Verdict};
use sea_orm::{DatabaseConnection, DatabaseTransaction, DbErr};
use tokio_util::sync::CancellationToken;
use transport::{Delivery, MessageId, Settlement, Transport, TransportError};

use crate::{Mistake, Mistakes, inbox_in_another_transaction, no_inbox, retry_for_ever};

/// Between two sessions.
const PAUSE: Duration = Duration::from_millis(50);

/// The mistakes for which this consumer takes the place of [`inbox::Consumer`].
pub const REPLACES_THE_REAL_ONE_FOR: [Mistake; 5] = [
    Mistake::NoInbox,
    Mistake::InboxInAnotherTransaction,
    Mistake::InboxForgetsTooSoon,
    Mistake::NoVersionOrder,
    Mistake::RetryForEver,
];

/// A consumer with mistakes.
pub struct Consumer<H> {
    /// The receiver's database.
    pub db: DatabaseConnection,
    /// The broker.
    pub transport: Arc<dyn Transport>,
    /// What is to be done.
    pub handler: H,
    /// Its name in the inbox.
    pub name: &'static str,
    /// What it reads.
    pub queue: &'static str,
    /// What it does wrong.
    pub mistakes: Mistakes,
}

/// Why a delivery was not settled. It will come again.
#[derive(Debug, thiserror::Error)]
enum Setback {
    #[error(transparent)]
    Broker(#[from] TransportError),
    #[error(transparent)]
    Database(#[from] DbErr),
}

/// A transaction for the effect, with the inbox row in it or without.
enum Effect {
    Guarded(InboxTransaction),
    Bare(DatabaseTransaction),
}

impl<H: Handler> Consumer<H> {
    /// Runs until `shutdown`.
    pub async fn run(self, shutdown: CancellationToken) {
        while !shutdown.is_cancelled() {
            if let Err(error) = self.session(&shutdown).await {
                tracing::debug!(%error, "session ended");
            }
            let _ = shutdown.run_until_cancelled(tokio::time::sleep(PAUSE)).await;
        }
    }

    async fn session(&self, shutdown: &CancellationToken) -> Result<(), Setback> {
        let mut session = self.transport.consumer(self.queue, 1).await?;
        while let Some(delivery) = shutdown.run_until_cancelled(session.next()).await {
            let Some(settlement) = shutdown.run_until_cancelled(self.receive(delivery?)).await
            else {
                return Ok(());
            };
            settlement?;
        }
        Ok(())
    }

    async fn receive(&self, delivery: Delivery) -> Result<(), Setback> {
        crash_point!("C11");
        let message = &delivery.message;
        let event = match self.mistakes.has(Mistake::RetryForEver) {
            true => retry_for_ever::decode(&self.handler, message).await.ok(),
            false => self.handler.decode(message).ok(),
        };
        let id = message.properties.message_id.as_deref().and_then(|id| id.parse().ok());
        let (Some(event), Some(id)) = (event, id) else {
            return give_up(delivery).await;
        };
        if let Some(effect) = self.begin(id, &message.body).await? {
            crash_point!("C12");
            let verdict = self.handler.handle(effect.transaction(), &event).await?;
            if verdict != Verdict::Ack {
                return give_up(delivery).await;
            }
            crash_point!("C15");
            effect.commit().await?;
            crash_point!("C16");
            self.handler.committed();
        }
        delivery.settle(Settlement::Ack).await?;
        crash_point!("C17");
        Ok(())
    }

    /// `None`: a duplicate.
    async fn begin(&self, id: MessageId, body: &[u8]) -> Result<Option<Effect>, DbErr> {
        if self.mistakes.has(Mistake::NoInbox) {
            return no_inbox::begin(&self.db).await.map(Effect::Bare).map(Some);
        }
        if self.mistakes.has(Mistake::InboxInAnotherTransaction) {
            let begun = inbox_in_another_transaction::begin(&self.db, self.name, id, body).await?;
            return Ok(begun.map(Effect::Bare));
        }
        match inbox::begin(&self.db, self.name, id, body).await? {
            Receipt::First(tx) => Ok(Some(Effect::Guarded(tx))),
            Receipt::Duplicate | Receipt::OtherBody => Ok(None),
        }
    }
}

/// What can't be handled goes to the dead letters; its neighbours flow.
async fn give_up(delivery: Delivery) -> Result<(), Setback> {
    delivery.settle(Settlement::DeadLetter).await?;
    crash_point!("C17");
    Ok(())
}

impl Effect {
    fn transaction(&self) -> &DatabaseTransaction {
        match self {
            Self::Guarded(tx) => tx,
            Self::Bare(tx) => tx,
        }
    }

    async fn commit(self) -> Result<(), DbErr> {
        match self {
            Self::Guarded(tx) => tx.commit().await,
            Self::Bare(tx) => tx.commit().await,
        }
    }
}
