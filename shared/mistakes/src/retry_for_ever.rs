//! No limit and no parking: a message that fails is tried until it succeeds. One that can't succeed
//! keeps all others waiting behind it.

use std::convert::Infallible;
use std::time::Duration;

use crash_points::crash_point;
use inbox::{Handler, Unreadable};
use transport::Message;

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// Reads the message until it can be read.
pub async fn decode<H: Handler>(handler: &H, message: &Message) -> Result<H::Event, Infallible> {
    loop {
        match handler.decode(message) {
            Ok(event) => return Ok(event),
            Err(Unreadable { detail, .. }) => {
                tracing::trace!(detail, "once more");
                crash_point!("once-more");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}
