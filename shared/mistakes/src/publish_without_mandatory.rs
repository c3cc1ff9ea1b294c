//! Publish without `mandatory`, and without asking for persistence.
//!
//! A broker confirms a message that no queue wants, and drops it; only with `mandatory` does it say so
//! first. What the sender sees is a confirm. (Persistence makes no difference to a quorum queue or to
//! the queue in SQL: both write every message to disk.)

use std::sync::Arc;

use async_trait::async_trait;
use crash_points::crash_point;
use transport::{Message, Outcome, Published, Publisher, Transport, TransportError};

use crate::decorated;

/// The transport of a relay that makes this mistake.
#[must_use]
pub fn transport(inner: Arc<dyn Transport>) -> Arc<dyn Transport> {
    decorated::publisher(inner, |publisher| Box::new(NotMandatory(publisher)))
}

struct NotMandatory(Box<dyn Publisher>);

#[async_trait]
impl Publisher for NotMandatory {
    async fn publish(&self, messages: &[Message]) -> Published {
        let mut published = self.0.publish(messages).await;
        for outcome in &mut published.outcomes {
            if matches!(outcome, Outcome::Unroutable(_)) {
                crash_point!("dropped-by-the-broker");
                *outcome = Outcome::Confirmed;
            }
        }
        published
    }

    async fn check(&self) -> Result<(), TransportError> {
        self.0.check().await
    }
}
