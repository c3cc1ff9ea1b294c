//! Calls of the handler's plain methods. A panic in one of them is the handler's mistake: it must
//! cost one message at most, never the consumer.

use std::panic::{AssertUnwindSafe, catch_unwind};

use transport::{InvalidMessageId, Message};

use crate::transaction::sha256_hex;
use crate::work::Readable;
use crate::{Handler, Reason, Unreadable};

/// Reads a message: its id, then, by the handler, its event.
pub(crate) fn read<H: Handler>(
    handler: &H,
    message: &Message,
) -> Result<Readable<H::Event>, Unreadable> {
    let message_id = message.properties.message_id.as_deref().unwrap_or_default();
    let message_id = message_id.parse().map_err(|error: InvalidMessageId| Unreadable {
        reason: Reason::MalformedMessageId,
        detail: format!("message_id: {error}"),
    })?;
    let decoded = catch_unwind(AssertUnwindSafe(|| handler.decode(message)));
    let event = decoded.unwrap_or_else(|_| {
        let detail = "the decoder panicked".to_owned();
        Err(Unreadable { reason: Reason::MalformedBody, detail })
    })?;
    Ok(Readable { message_id, event, hash: sha256_hex(&message.body) })
}

/// Tells the handler of a commit, which stands whatever the handler makes of it.
pub(crate) fn tell_committed<H: Handler>(handler: &H) {
    if catch_unwind(AssertUnwindSafe(|| handler.committed())).is_err() {
        tracing::error!("`Handler::committed` panicked: what was committed stays");
    }
}
