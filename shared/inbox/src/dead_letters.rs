use std::sync::Arc;

use sea_orm::{DatabaseConnection, DbErr};
use tokio_util::sync::CancellationToken;
use transport::{Settlement, Transport, TransportError};

use crate::consumer::{session_delays, sleep_or_stop};
use crate::parking::park;
use crate::{ConsumerOptions, Reason, Unreadable};

/// Moves what the broker has given up on into `parked_messages`, so that there is one place to look.
/// Ends with `shutdown`.
pub(crate) fn drain(
    db: &DatabaseConnection,
    transport: &Arc<dyn Transport>,
    options: &ConsumerOptions,
    shutdown: CancellationToken,
) {
    let drain = Drain {
        db: db.clone(),
        transport: transport.clone(),
        consumer: options.consumer.clone(),
        queue: format!("{}.dead", options.queue),
    };
    tokio::spawn(async move {
        let mut delays = session_delays();
        while !shutdown.is_cancelled() {
            // The main consumer reports outages of broker and database; one report is enough.
            if let Err(error) = drain.session(&shutdown).await {
                tracing::debug!(%error, queue = drain.queue, "dead-letter session ended");
                sleep_or_stop(delays.next().unwrap_or_default(), &shutdown).await;
            }
        }
    });
}

struct Drain {
    db: DatabaseConnection,
    transport: Arc<dyn Transport>,
    consumer: String,
    queue: String,
}

#[derive(Debug, thiserror::Error)]
enum DrainError {
    #[error(transparent)]
    Transport(#[from] TransportError),
    #[error(transparent)]
    Database(#[from] DbErr),
}

impl Drain {
    async fn session(&self, shutdown: &CancellationToken) -> Result<(), DrainError> {
        let mut session = self.transport.consumer(&self.queue, 10).await?;
        loop {
            let delivery = tokio::select! {
                () = shutdown.cancelled() => return Ok(()),
                delivery = session.next() => delivery?,
            };
            let headers = &delivery.message.headers;
            let death = headers.get("x-first-death-reason").and_then(|value| value.as_str());
            let why = Unreadable {
                reason: match death {
                    Some("expired") => Reason::Expired,
                    Some("rejected") => Reason::HandlerFailed,
                    _ => Reason::DeliveryLimit,
                },
                detail: format!(
                    "dead-lettered by the broker: {}",
                    death.unwrap_or("no reason given")
                ),
            };
            park(&self.db, &self.consumer, &delivery, &why).await?;
            delivery.settle(Settlement::Ack).await?;
        }
    }
}
