//! Mark the row as sent as soon as the message is on its way: the confirm is not waited for.

use std::sync::Arc;

use async_trait::async_trait;
use crash_points::crash_point;
use transport::{Message, Outcome, Published, Publisher, Transport, TransportError};

use crate::decorated;

/// The transport of a relay that makes this mistake.
#[must_use]
pub fn transport(inner: Arc<dyn Transport>) -> Arc<dyn Transport> {
    decorated::publisher(inner, |publisher| Box::new(NotWaiting(publisher.into())))
}

struct NotWaiting(Arc<dyn Publisher>);

#[async_trait]
impl Publisher for NotWaiting {
    async fn publish(&self, messages: &[Message]) -> Published {
        let (publisher, messages) = (self.0.clone(), messages.to_vec());
        let outcomes = vec![Outcome::Confirmed; messages.len()];
        crash_point!("unheard-publish");
        tokio::spawn(async move {
            let published = publisher.publish(&messages).await;
            if published.outcomes.iter().any(|outcome| *outcome != Outcome::Confirmed) {
                crash_point!("nobody-listened");
                tracing::debug!(?published, "not confirmed; nobody listens any more");
            }
            crash_point!("unheard-answer");
        });
        Published { outcomes, lost: None }
    }

    async fn check(&self) -> Result<(), TransportError> {
        self.0.check().await
    }
}
