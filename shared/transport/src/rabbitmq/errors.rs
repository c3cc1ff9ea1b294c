//! What a failure of the library means to the owner of a session.

use lapin::ErrorKind;
use lapin::protocol::AMQPError;

use crate::TransportError;

/// Reply codes of AMQP 0-9-1 that a person must look at: waiting does not cure them.
const ACCESS_REFUSED: u16 = 403;
const PRECONDITION_FAILED: u16 = 406;
const NOT_ALLOWED: u16 = 530;

/// The reply code for an exchange or a queue that does not exist.
const NOT_FOUND: u16 = 404;

/// A failure while a session is opened.
pub(super) fn opening(url: &str, error: lapin::Error) -> TransportError {
    match error.kind() {
        ErrorKind::ProtocolError(refusal) => match refusal.get_id() {
            ACCESS_REFUSED | NOT_ALLOWED => {
                TransportError::AccessRefused { url: url.to_owned(), reason: words(refusal) }
            }
            PRECONDITION_FAILED => TransportError::TopologyMismatch { reason: words(refusal) },
            _ => TransportError::SessionLost { reason: words(refusal) },
        },
        _ => TransportError::Unreachable { url: url.to_owned(), source: Box::new(error) },
    }
}

/// Whether the exchange or the queue that was asked for does not exist.
pub(super) fn is_not_found(error: &lapin::Error) -> bool {
    matches!(error.kind(), ErrorKind::ProtocolError(refusal) if refusal.get_id() == NOT_FOUND)
}

/// A failure of a session that worked.
pub(super) fn lost(error: &lapin::Error) -> TransportError {
    TransportError::SessionLost { reason: reason(error) }
}

/// The same as text.
pub(super) fn reason(error: &lapin::Error) -> String {
    match error.kind() {
        ErrorKind::ProtocolError(refusal) => words(refusal),
        _ => one_line(&error.to_string()),
    }
}

/// The broker's own words.
fn words(refusal: &AMQPError) -> String {
    one_line(refusal.get_message().as_str())
}

/// The broker likes to break lines in its texts.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
