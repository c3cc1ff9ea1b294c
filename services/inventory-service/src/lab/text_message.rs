//! An effect outside of every database: the customer gets a text message.

use contracts::OrderId;
use mistakes::{Mistake, Mistakes};
use serde_json::json;

use super::text_message_without_key;

/// The header by which the other side knows a second call.
const KEY: &str = "Idempotency-Key";

/// Somebody else's service that sends text messages.
pub(super) struct Gateway {
    client: reqwest::Client,
    url: String,
    key: fn(OrderId) -> Option<String>,
}

impl Gateway {
    /// The one at `TEXT_MESSAGE_URL`, if there is one.
    pub(super) fn from_environment(mistakes: &Mistakes) -> Option<Self> {
        let url = std::env::var("TEXT_MESSAGE_URL").ok()?;
        let key = match mistakes.has(Mistake::TextMessageWithoutKey) {
            true => text_message_without_key::key,
            false => |order_id: OrderId| Some(format!("reserved-{order_id}")),
        };
        Some(Self { client: reqwest::Client::new(), url, key })
    }

    /// Tells the customer. It is called inside the transaction, and so once for each try of it.
    pub(super) async fn tell(&self, order_id: OrderId) {
        let mut call = self.client.post(&self.url).json(&json!({ "orderId": order_id }));
        if let Some(key) = (self.key)(order_id) {
            call = call.header(KEY, key);
        }
        if let Err(error) = call.send().await {
            tracing::warn!(%error, "the text message was not taken");
        }
    }
}
