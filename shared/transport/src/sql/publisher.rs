use std::time::Duration;

use async_trait::async_trait;
use database::HintSender;
use sea_orm::DatabaseConnection;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{failed, store};
use crate::{Message, Outcome, Published, Publisher, TransportError, TransportOptions};

pub(super) struct SqlPublisher {
    db: DatabaseConnection,
    exchange: String,
    confirm_timeout: Duration,
    max_body_bytes: usize,
    consumers: HintSender,
    _stops_the_sender: DropGuard,
}

impl SqlPublisher {
    pub(super) fn start(
        db: DatabaseConnection,
        exchange: String,
        options: &TransportOptions,
    ) -> Self {
        let stop = CancellationToken::new();
        Self {
            consumers: HintSender::start(&db, super::HINT_CHANNEL, stop.clone()),
            db,
            exchange,
            confirm_timeout: options.confirm_timeout,
            max_body_bytes: options.max_body_bytes,
            _stops_the_sender: stop.drop_guard(),
        }
    }

    fn refused(&self, message: &Message) -> Option<Outcome> {
        if message.routing_key.contains('\0') {
            // PostgreSQL's text can't hold it, and would refuse the neighbours too.
            return Some(Outcome::Refused("NUL in the routing key".to_owned()));
        }
        let (size, limit) = (message.body.len(), self.max_body_bytes);
        (size > limit).then(|| Outcome::Refused(format!("body of {size} bytes, limit {limit}")))
    }
}

#[async_trait]
impl Publisher for SqlPublisher {
    async fn publish(&self, messages: &[Message]) -> Published {
        let mut outcomes: Vec<_> = messages
            .iter()
            .map(|message| self.refused(message).unwrap_or(Outcome::Unknown))
            .collect();
        let unknown = outcomes.clone();
        let (db, exchange, messages) = (self.db.clone(), self.exchange.clone(), messages.to_vec());
        // In a task of its own: our time-out must not drop a transaction in the middle.
        let work = tokio::spawn(async move {
            store::publish(&db, &exchange, &messages, &mut outcomes).await?;
            Ok(outcomes)
        });
        let lost = match tokio::time::timeout(self.confirm_timeout, work).await {
            Ok(Ok(Ok(outcomes))) => {
                self.consumers.send();
                return Published { outcomes, lost: None };
            }
            Ok(Ok(Err(error))) => failed("publishing")(error),
            Ok(Err(panic)) => TransportError::SessionLost { reason: panic.to_string() },
            Err(_) => TransportError::TimedOut {
                doing: "publishing",
                seconds: self.confirm_timeout.as_secs_f32(),
            },
        };
        Published { outcomes: unknown, lost: Some(lost) }
    }

    async fn check(&self) -> Result<(), TransportError> {
        database::ping(&self.db).await.map_err(failed("asking for a sign of life"))
    }
}
