use std::collections::BTreeMap;
use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::TransportError;

/// Headers by name. Values are JSON; what a broker has and JSON lacks (bytes, time stamps)
/// is shown as text or an object and is for people, not for decisions.
pub type Headers = BTreeMap<String, serde_json::Value>;

/// A message as it travels: nothing in it has been checked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Message {
    /// Decides which queues get it.
    pub routing_key: String,
    /// The standard properties.
    pub properties: Properties,
    /// Everything else that describes the body.
    pub headers: Headers,
    /// The body's bytes, as they came.
    pub body: Vec<u8>,
}

/// The standard properties of a message, named as AMQP 0-9-1 names them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Properties {
    /// Identifies the message in every attempt to deliver it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The name of the event or command.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The body's media type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The body's encoding. Only the absent one is understood here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_encoding: Option<String>,
    /// When it happened, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<u64>,
    /// The program that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_id: Option<String>,
}

/// A message that was delivered and waits to be settled. Dropped unsettled, it comes again.
pub struct Delivery {
    /// What was delivered.
    pub message: Message,
    /// True when it (or its copy) may have been delivered before.
    pub redelivered: bool,
    settle: Box<dyn Settle>,
}

impl Delivery {
    /// For implementations of [`crate::Consumer`].
    #[must_use]
    pub fn new(message: Message, redelivered: bool, settle: Box<dyn Settle>) -> Self {
        Self { message, redelivered, settle }
    }

    /// Tells the broker what became of it.
    ///
    /// # Errors
    /// The session is lost, and the message will come again.
    pub async fn settle(self, settlement: Settlement) -> Result<(), TransportError> {
        self.settle.settle(settlement).await
    }
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery")
            .field("message", &self.message)
            .field("redelivered", &self.redelivered)
            .finish_non_exhaustive()
    }
}

/// What became of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// Done: the broker forgets it.
    Ack,
    /// Not done: the broker delivers it again, to anyone.
    Requeue,
    /// Can't be done: the broker moves it to the dead-letter queue.
    DeadLetter,
}

/// The broker's side of one [`Delivery`].
#[async_trait]
pub trait Settle: Send + Sync {
    /// Carries out the settlement.
    async fn settle(self: Box<Self>, settlement: Settlement) -> Result<(), TransportError>;
}
