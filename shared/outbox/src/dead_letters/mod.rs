//! What people see and do when messages got stuck: look at them, retry them, discard them.
//!
//! A dead row holds back the later messages of its aggregate until a person decides. [`retry`] gives
//! it all its tries again, under the same message id and version. [`discard`] gives it up for good:
//! the row stays, and what waited behind it flows. Each action is written down in the same
//! transaction, in `outbox_actions`: who, when, why, and what the row said before.
//!
//! Retrying is safe as long as the receiver's inbox remembers the message, for it may have been
//! published once already. So a message older than the inbox retention is refused, unless forced.

mod act;
mod cursor;
mod figures;
mod key;
mod look;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, Utc};
use sea_orm::DbErr;
use serde::Serialize;
use serde_json::Value;

pub use act::{discard, retry, retry_many};
pub use cursor::{Cursor, InvalidCursor};
pub use figures::{backlog, stats};
pub use key::{InvalidMessageKey, MessageKey};
pub use look::{list, show};

/// What became of a message so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It waits for the broker's confirm.
    Pending,
    /// The broker has confirmed it.
    Sent,
    /// Given up after its last try; it holds back its aggregate.
    Dead,
    /// A person has decided that it shall never be sent.
    Discarded,
}

impl State {
    const ALL: [Self; 4] = [Self::Pending, Self::Sent, Self::Dead, Self::Discarded];

    /// As the column `status` has it.
    fn column(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Sent => "Sent",
            Self::Dead => "Dead",
            Self::Discarded => "Discarded",
        }
    }

    fn of_column(text: &str) -> Result<Self, DbErr> {
        let found = Self::ALL.into_iter().find(|state| state.column() == text);
        found.ok_or_else(|| DbErr::Type(format!("outbox_messages.status: {text:?}")))
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.column().to_lowercase())
    }
}

/// The text is no state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected pending, sent, dead or discarded")]
pub struct InvalidState;

impl FromStr for State {
    type Err = InvalidState;

    fn from_str(text: &str) -> Result<Self, InvalidState> {
        Self::ALL.into_iter().find(|state| state.to_string() == text).ok_or(InvalidState)
    }
}

/// Which messages to list.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those in this state.
    pub state: Option<State>,
    /// Only those of this type.
    pub kind: Option<String>,
    /// Only those after this one in the list: its [`Entry::cursor`].
    pub cursor: Option<Cursor>,
}

/// A message as lists show it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Its place in lists.
    #[serde(skip)]
    pub cursor: Cursor,
    /// The same in every attempt.
    pub message_id: MessageKey,
    /// What became of it so far.
    pub state: State,
    /// The event's name.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it is about.
    pub aggregate_type: String,
    /// Which one.
    pub aggregate_id: String,
    /// Which change of it.
    pub aggregate_version: i64,
    /// Failures of its own since it was written or retried.
    pub retry_count: i32,
    /// Why it is not sent yet, or why it is dead.
    pub last_error: Option<String>,
    /// When it was written; `None`: the row says something that no program can hold.
    pub occurred_on: Option<DateTime<Utc>>,
    /// The next try is not before this; `None`: at once.
    pub next_attempt_at: Option<DateTime<Utc>>,
    /// When the broker's confirm was written down.
    pub sent_at: Option<DateTime<Utc>>,
    /// When it was given up.
    pub dead_at: Option<DateTime<Utc>>,
}

/// Everything about a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Details {
    /// What lists show as well.
    #[serde(flatten)]
    pub entry: Entry,
    /// The major version of the payload's form.
    pub schema_version: i32,
    /// The payload as JSON; null when it is none.
    pub payload: Value,
    /// The payload byte for byte, as it is sent.
    pub payload_text: String,
    /// Its headers, or their text when that is no JSON.
    pub headers: Value,
    /// Who has claimed it.
    pub claim: Option<Claim>,
    /// What people did to it, in this order.
    pub actions: Vec<Action>,
}

/// A claim on a message, as people see it: the fencing token is nobody's business.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// The relay.
    pub by: String,
    /// From then on any relay may claim it.
    pub until: DateTime<Utc>,
}

/// Something that a person did to a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Action {
    /// When, by the database's clock.
    pub at: DateTime<Utc>,
    /// Who.
    pub actor: String,
    /// `retry` or `discard`.
    pub action: String,
    /// Why.
    pub reason: Option<String>,
    /// What the row said before.
    pub last_error: Option<String>,
}

/// What an outbox has left to do, as [`backlog`] tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Messages that wait, claimed ones included.
    pub pending: i64,
    /// Messages given up, which a person must look at.
    pub dead: i64,
    /// The age of the first of those that wait, in milliseconds.
    pub oldest_pending_age_ms: Option<i64>,
}

/// An outbox in figures.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Messages that wait, claimed ones included.
    pub pending: i64,
    /// Of those, in the hands of a relay whose lease runs.
    pub claimed: i64,
    /// Of those that wait, how many have failed already.
    pub failing: i64,
    /// Confirmed by the broker and not cleaned up yet.
    pub sent: i64,
    /// `sent` is what PostgreSQL's statistics say: there are too many to be counted at each look.
    pub sent_is_estimate: bool,
    /// Given up, waiting for a person.
    pub dead: i64,
    /// Given up by a person.
    pub discarded: i64,
    /// Milliseconds since the oldest waiting message was written, by the database's clock.
    pub oldest_pending_age_ms: Option<i64>,
    /// Aggregates with messages that wait behind a dead one.
    pub blocked_aggregates: i64,
    /// Those messages.
    pub blocked_messages: i64,
}

/// Who does something, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct By {
    /// Who, as they name themselves.
    pub actor: String,
    /// Why, if they say so.
    pub reason: Option<String>,
}

/// How old a message may be to be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Horizon {
    /// The receivers' inboxes remember for so long whether they had it already.
    Within(Duration),
    /// Any age: somebody has made sure that a second effect is impossible or harmless.
    Forced,
}

/// Which dead messages to retry together.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Only those of this type.
    pub kind: Option<String>,
    /// Only those that were written before.
    pub before: Option<DateTime<Utc>>,
}

/// Whether to do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// Only count.
    Dry,
    /// Do it.
    Real,
}

/// What [`retry_many`] did, or would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Retried {
    /// Messages that are retried.
    pub count: u64,
    /// Messages that are left alone, because they are older than the inbox retention.
    pub too_old: u64,
}

/// Why an action was refused.
#[derive(Debug, thiserror::Error)]
pub enum ActionError {
    /// There is no such row.
    #[error("there is no message {0} in the outbox")]
    NotFound(MessageKey),
    /// Only dead messages can be retried or discarded.
    #[error("message {id} is {state}: only a dead one can be retried or discarded")]
    NotDead {
        /// Which one.
        id: MessageKey,
        /// What it is.
        state: State,
    },
    /// The receiver may have had it, and forgotten it.
    #[error(
        "message {id} was written {} ago: it may have been received then, and an inbox remembers that \
         for {} only; make sure that a second effect is harmless, then force it",
        days(*age), days(*retention)
    )]
    TooOld {
        /// Which one.
        id: MessageKey,
        /// Its age by the database's clock.
        age: Duration,
        /// How long inboxes remember.
        retention: Duration,
    },
    /// The database.
    #[error("{0}")]
    Database(#[from] DbErr),
}

/// The two largest units say enough.
fn days(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, _) => format!("{hours} h"),
        (days, 0, _) => format!("{days} d"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}
