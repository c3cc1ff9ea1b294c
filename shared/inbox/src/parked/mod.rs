//! What people see and do when messages were parked: look at them, retry them, discard them.
//!
//! A retry does not go through the broker. [`Replayer::retry`] decodes the stored message and runs
//! the consumer's own handler in an inbox transaction, which also marks the row: the effect happens
//! once, whoever else delivers or retries the message meanwhile. An expiration that the message had
//! at the broker is gone by construction. Each action is written down in `parked_actions`.

mod replay;
mod store;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, Utc};
use sea_orm::{DbErr, DeriveValueType};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::Reason;

pub use replay::Replayer;
pub use store::{discard, list, show};

/// Identifies a parking: the message itself may have no id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, DeriveValueType)]
#[sea_orm(value_type = "String")]
#[serde(into = "String")]
pub struct ParkedId(Uuid);

/// The text is no such id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a hyphenated UUID")]
pub struct InvalidParkedId;

impl FromStr for ParkedId {
    type Err = InvalidParkedId;

    fn from_str(text: &str) -> Result<Self, InvalidParkedId> {
        if text.len() != uuid::fmt::Hyphenated::LENGTH {
            return Err(InvalidParkedId);
        }
        Uuid::try_parse(text).map(Self).map_err(|_| InvalidParkedId)
    }
}

impl fmt::Display for ParkedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl From<ParkedId> for String {
    fn from(id: ParkedId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for ParkedId {
    type Error = InvalidParkedId;

    fn try_from(text: String) -> Result<Self, InvalidParkedId> {
        text.parse()
    }
}

/// What became of a parked message so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It waits for a person.
    Parked,
    /// Its effect is there.
    Retried,
    /// A person has decided that it shall never have one.
    Discarded,
}

impl State {
    const ALL: [Self; 3] = [Self::Parked, Self::Retried, Self::Discarded];
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Parked => "parked",
            Self::Retried => "retried",
            Self::Discarded => "discarded",
        })
    }
}

/// The text is no state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected parked, retried or discarded")]
pub struct InvalidState;

impl FromStr for State {
    type Err = InvalidState;

    fn from_str(text: &str) -> Result<Self, InvalidState> {
        Self::ALL.into_iter().find(|state| state.to_string() == text).ok_or(InvalidState)
    }
}

/// The text is no reason for parking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a reason for parking, such as handler_failed")]
pub struct InvalidReason;

impl FromStr for Reason {
    type Err = InvalidReason;

    fn from_str(text: &str) -> Result<Self, InvalidReason> {
        const ALL: [Reason; 9] = [
            Reason::MalformedMessageId,
            Reason::DuplicateIdOtherBody,
            Reason::UnknownType,
            Reason::UnsupportedVersion,
            Reason::MalformedBody,
            Reason::HandlerFailed,
            Reason::DeliveryLimit,
            Reason::Expired,
            Reason::Stale,
        ];
        ALL.into_iter().find(|reason| reason.to_string() == text).ok_or(InvalidReason)
    }
}

/// Which parked messages to list.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those of this consumer.
    pub consumer: Option<String>,
    /// Only those that were parked for this.
    pub reason: Option<Reason>,
    /// Only those in this state.
    pub state: Option<State>,
    /// Only those of this type.
    pub kind: Option<String>,
    /// Only those that were parked before.
    pub before: Option<DateTime<Utc>>,
    /// Only those after this one in the list.
    pub cursor: Option<ParkedId>,
}

/// A parked message as lists show it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Identifies the parking.
    pub parked_id: ParkedId,
    /// What became of it so far.
    pub state: State,
    /// Who parked it.
    pub consumer: String,
    /// As it came.
    pub message_id: Option<String>,
    /// As it came.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Why, in one word.
    pub reason: String,
    /// Why, in one sentence.
    pub detail: String,
    /// When, by the database's clock.
    pub parked_at: DateTime<Utc>,
}

/// Everything about a parked message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Details {
    /// What lists show as well.
    #[serde(flatten)]
    pub entry: Entry,
    /// Routing key, properties and headers, as they came.
    pub properties: Value,
    /// The body as text; null when it is no UTF-8.
    pub body: Option<String>,
    /// The body's bytes, in hex.
    pub body_hex: String,
    /// What people did to it, in this order.
    pub actions: Vec<Action>,
}

/// Something that a person did to a parked message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Action {
    /// When, by the database's clock.
    pub at: DateTime<Utc>,
    /// Who.
    pub actor: String,
    /// `retry` or `discard`.
    pub action: String,
    /// Why.
    pub reason: Option<String>,
    /// What came of a retry.
    pub outcome: Option<String>,
}

/// Who does something, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct By {
    /// Who, as they name themselves.
    pub actor: String,
    /// Why, if they say so.
    pub reason: Option<String>,
}

/// How long ago a message may have been parked to be tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Horizon {
    /// The inbox remembers for so long whether a copy of it had its effect meanwhile: its retention.
    Within(Duration),
    /// Any age: somebody has made sure that a second effect is impossible or harmless.
    Forced,
}

/// What a retry came to, when it came to something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Its effect happened now.
    Processed,
    /// Its effect was there already.
    Duplicate,
}

/// Whether to do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// Only count.
    Dry,
    /// Do it.
    Real,
}

/// What [`Replayer::retry_many`] did, or would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Retried {
    /// Messages that were tried, or would be.
    pub count: u64,
    /// Effects that happened now.
    pub processed: u64,
    /// Effects that were there already.
    pub duplicates: u64,
    /// Messages that stay parked.
    pub still_failing: u64,
    /// Messages that are left alone, because they were parked longer ago than the inbox remembers.
    /// They are not part of `count`.
    pub too_old: u64,
}

/// Why an action was refused or came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum ActionError {
    /// There is no such row.
    #[error("there is no parked message {0}")]
    NotFound(ParkedId),
    /// Somebody has retried or discarded it already.
    #[error("message {id} is {state}: only a parked one can be retried or discarded")]
    NotParked {
        /// Which one.
        id: ParkedId,
        /// What it is.
        state: State,
    },
    /// Another consumer has parked it, and only that one's handler understands it.
    #[error("message {id} was parked by {consumer}: retry it there")]
    OtherConsumer {
        /// Which one.
        id: ParkedId,
        /// Who has parked it.
        consumer: String,
    },
    /// A copy of it may have had its effect, and the inbox has forgotten it.
    #[error(
        "message {id} was parked {} ago: a copy of it may have had its effect since, and the inbox \
         remembers that for {} only; make sure that a second effect is harmless, then force it",
        words(*age), words(*retention)
    )]
    TooOld {
        /// Which one.
        id: ParkedId,
        /// How long ago it was parked, by the database's clock.
        age: Duration,
        /// How long the inbox remembers.
        retention: Duration,
    },
    /// It failed again and stays parked.
    #[error("still failing ({reason}): {detail}")]
    StillFailing {
        /// Why, in one word.
        reason: Reason,
        /// Why, in one sentence.
        detail: String,
    },
    /// The database.
    #[error("{0}")]
    Database(#[from] DbErr),
}

/// The two largest units say enough.
fn words(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, _) => format!("{hours} h"),
        (days, 0, _) => format!("{days} d"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}
