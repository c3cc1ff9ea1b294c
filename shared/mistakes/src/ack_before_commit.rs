//! Acknowledge on receipt ("auto-ack"): the broker forgets the message before anything was done with it.

use std::sync::Arc;

use async_trait::async_trait;
use crash_points::crash_point;
use transport::{Consumer, Delivery, Message, Settle, Settlement, Transport, TransportError};

use crate::decorated;

/// The transport of a consumer that makes this mistake.
#[must_use]
pub fn transport(inner: Arc<dyn Transport>) -> Arc<dyn Transport> {
    decorated::consumer(inner, |session| Box::new(AckOnReceipt { session, acked: None }))
}

struct AckOnReceipt {
    session: Box<dyn Consumer>,
    /// Taken from the session and acknowledged; kept here while the caller does not take it.
    acked: Option<tokio::task::JoinHandle<Result<(Message, bool), TransportError>>>,
}

#[async_trait]
impl Consumer for AckOnReceipt {
    async fn next(&mut self) -> Result<Delivery, TransportError> {
        if self.acked.is_none() {
            let delivery = self.session.next().await?;
            // In a task: `next` may be dropped at any time, and the message would be gone without a handler.
            self.acked = Some(tokio::spawn(async move {
                let (message, redelivered) = (delivery.message.clone(), delivery.redelivered);
                delivery.settle(Settlement::Ack).await?;
                crash_point!("acked-too-soon");
                Ok((message, redelivered))
            }));
        }
        let Some(task) = &mut self.acked else {
            return Err(lost("no delivery"));
        };
        let acked = task.await.map_err(|error| lost(&error.to_string()));
        self.acked = None;
        let (message, redelivered) = acked??;
        Ok(Delivery::new(message, redelivered, Box::new(Settled)))
    }
}

fn lost(reason: &str) -> TransportError {
    TransportError::SessionLost { reason: reason.to_owned() }
}

/// There is nothing left to tell the broker.
struct Settled;

#[async_trait]
impl Settle for Settled {
    async fn settle(self: Box<Self>, _: Settlement) -> Result<(), TransportError> {
        Ok(())
    }
}
