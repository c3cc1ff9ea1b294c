use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use database::Dialect;
use sea_orm::Value;

/// A message's place in every list: when it is due, and its place in the order of writing. As text it
/// is `2026-11-30T20:53:56.758Z_42`, which needs no escaping in a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// As the database has it, to the last digit: SQLite compares times as text.
    due: String,
    id: i64,
}

/// The text names no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected what an earlier list named as the next cursor")]
pub struct InvalidCursor;

impl Cursor {
    /// When the row is due, as text, to the last digit, without a `+`.
    pub(super) fn due_column(dialect: Dialect) -> &'static str {
        match dialect {
            Dialect::Sqlite => {
                "REPLACE(COALESCE(next_attempt_at, occurred_on), '+00:00', 'Z') AS due"
            }
            Dialect::Postgres => {
                "TO_CHAR(COALESCE(next_attempt_at, occurred_on) AT TIME ZONE 'UTC',
                   'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') AS due"
            }
        }
    }

    /// From that column, and the row's id.
    pub(super) fn of_columns(due: String, id: i64) -> Self {
        Self { due, id }
    }

    /// The time when it is due, as the database compares it.
    pub(super) fn due(&self, dialect: Dialect) -> Value {
        match dialect {
            Dialect::Sqlite => self.due.replace('Z', "+00:00").into(),
            Dialect::Postgres => self.due.parse::<DateTime<Utc>>().ok().into(),
        }
    }

    pub(super) fn id(&self) -> i64 {
        self.id
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.due, self.id)
    }
}

impl FromStr for Cursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let (due, id) = text.rsplit_once('_').ok_or(InvalidCursor)?;
        DateTime::parse_from_rfc3339(due).map_err(|_| InvalidCursor)?;
        let id = id.parse().map_err(|_| InvalidCursor)?;
        Ok(Self { due: due.to_owned(), id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_what_it_wrote_and_refuses_everything_else() {
        for text in ["2026-11-30T20:53:56.758Z_42", "2026-11-30T20:53:56Z_1"] {
            assert_eq!(text.parse::<Cursor>().expect("a cursor").to_string(), text);
        }
        for text in ["", "x", "42", "_", "x_42", "2026-11-30T20:53:56Z_", "2026-11-30T20:53:56Z_x"]
        {
            assert_eq!(text.parse::<Cursor>(), Err(InvalidCursor), "{text:?}");
        }
    }
}
