use std::sync::Arc;

use sea_orm::DatabaseConnection;
use tokio_util::sync::CancellationToken;
use transport::{Settlement, Transport, TransportError};

use crate::aggregate::Step;
use crate::consumer::{session_delays, sleep_or_stop};
use crate::parking::{InTurn, Parking};
use crate::{ConsumerOptions, Reason, Unreadable};

/// The prefetch. What killed sessions in its own queue will do so here: it shall charge nobody else.
const ONE_BY_ONE: u16 = 1;

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
        ordered: options.gap_wait.is_some(),
        queue: format!("{}.dead", options.queue),
    };
    tokio::spawn(async move {
        let mut delays = session_delays();
        while !shutdown.is_cancelled() {
            // The main consumer reports outages of broker and database; one report is enough.
            let ended = match drain.transport.consumer(&drain.queue, ONE_BY_ONE).await {
                Ok(session) => {
                    delays = session_delays();
                    drain.session(session, &shutdown).await
                }
                Err(error) => Err(error),
            };
            if let Err(error) = ended {
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
    /// Whether the main consumer keeps an order: then nobody shall wait for a dead letter.
    ordered: bool,
    queue: String,
}

impl Drain {
    async fn session(
        &self,
        mut session: Box<dyn transport::Consumer>,
        shutdown: &CancellationToken,
    ) -> Result<(), TransportError> {
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
            let step = self.ordered.then(|| Step::of(&delivery.message)).flatten();
            let parking =
                Parking { consumer: &self.consumer, step: step.as_ref(), in_turn: InTurn::Unknown };
            let mut delays = session_delays();
            while let Err(error) = parking.park(&self.db, &delivery, &why).await {
                tracing::debug!(%error, queue = self.queue, "a dead letter waits for the database");
                sleep_or_stop(delays.next().unwrap_or_default(), shutdown).await;
                if shutdown.is_cancelled() {
                    return Ok(());
                }
            }
            delivery.settle(Settlement::Ack).await?;
        }
    }
}
