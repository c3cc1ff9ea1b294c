//! No mistake, but a failure (C7): the broker has the message, and its confirm never arrives.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use crash_points::crash_point;
use transport::{Message, Outcome, Published, Publisher, Transport, TransportError};

use crate::decorated;

/// The transport as it is; with `LAB_FAULT=confirm-lost`, one that loses the answers to the first batch
/// that it publishes, as a connection does that breaks at that moment.
#[must_use]
pub fn transport(inner: Arc<dyn Transport>) -> Arc<dyn Transport> {
    match std::env::var("LAB_FAULT").as_deref() {
        Ok("confirm-lost") => {
            decorated::publisher(inner, |publisher| Box::new(DeafOnce(publisher)))
        }
        _ => inner,
    }
}

struct DeafOnce(Box<dyn Publisher>);

static HAPPENED: AtomicBool = AtomicBool::new(false);

#[async_trait]
impl Publisher for DeafOnce {
    async fn publish(&self, messages: &[Message]) -> Published {
        let published = self.0.publish(messages).await;
        if messages.is_empty() || HAPPENED.swap(true, Ordering::SeqCst) {
            return published;
        }
        crash_point!("C7"); // published, and nobody here will ever know
        let lost = TransportError::SessionLost { reason: "the confirm never came".to_owned() };
        Published { outcomes: vec![Outcome::Unknown; messages.len()], lost: Some(lost) }
    }

    async fn check(&self) -> Result<(), TransportError> {
        self.0.check().await
    }
}
