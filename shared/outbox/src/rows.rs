//! The rows of a claim, as far as they can be read.

use chrono::{DateTime, Utc};
use sea_orm::{DbErr, QueryResult};
use transport::MessageId;

/// A row that this relay may publish.
#[derive(Debug)]
pub(crate) struct Claimed {
    pub(crate) id: i64,
    pub(crate) message_id: MessageId,
    pub(crate) aggregate_type: String,
    pub(crate) aggregate_id: String,
    pub(crate) aggregate_version: i64,
    pub(crate) kind: String,
    pub(crate) schema_version: i32,
    pub(crate) payload: String,
    pub(crate) headers: String,
    pub(crate) occurred_on: DateTime<Utc>,
    /// Since when it may be sent.
    pub(crate) due: DateTime<Utc>,
    pub(crate) retry_count: i32,
}

/// A row that was claimed and holds what no relay can read: somebody else wrote it.
#[derive(Debug)]
pub(crate) struct Garbage {
    pub(crate) row: Failing,
    pub(crate) reason: String,
}

/// What is known of a row that fails.
#[derive(Debug, Clone)]
pub(crate) struct Failing {
    pub(crate) id: i64,
    pub(crate) message_id: String,
    pub(crate) kind: String,
    /// `None`: it can't be read either.
    pub(crate) due: Option<DateTime<Utc>>,
    pub(crate) retry_count: i32,
}

impl Failing {
    /// Its place in the order of a claim. What can't be read comes first.
    pub(crate) fn place(&self) -> (Option<DateTime<Utc>>, i64) {
        (self.due, self.id)
    }
}

/// The rows of one claim, in the order of writing.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) readable: Vec<Claimed>,
    pub(crate) garbage: Vec<Garbage>,
}

impl Rows {
    pub(crate) fn len(&self) -> usize {
        self.readable.len() + self.garbage.len()
    }

    /// Reads what a claim returned.
    pub(crate) fn read(returned: &[QueryResult]) -> Result<Self, DbErr> {
        let mut rows = Self::default();
        for row in returned {
            match read(row) {
                Ok(claimed) => rows.readable.push(claimed),
                Err(error) => rows.garbage.push(garbage(row, &error)?),
            }
        }
        // RETURNING is not ordered, whatever the select says.
        rows.readable.sort_unstable_by_key(|row| (row.due, row.id));
        Ok(rows)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn read(row: &QueryResult) -> Result<Claimed, DbErr> {
    Ok(Claimed {
        id: row.try_get("", "id")?,
        message_id: row.try_get("", "message_id")?,
        aggregate_type: row.try_get("", "aggregate_type")?,
        aggregate_id: row.try_get("", "aggregate_id")?,
        aggregate_version: row.try_get("", "aggregate_version")?,
        kind: row.try_get("", "type")?,
        schema_version: row.try_get("", "schema_version")?,
        payload: row.try_get("", "payload")?,
        headers: row.try_get("", "headers")?,
        occurred_on: row.try_get("", "occurred_on")?,
        due: row.try_get("", "due")?,
        retry_count: row.try_get("", "retry_count")?,
    })
}

/// A row that can't be read fails by itself. As an error of the claim it would stop all others.
fn garbage(row: &QueryResult, error: &DbErr) -> Result<Garbage, DbErr> {
    Ok(Garbage {
        row: Failing {
            id: row.try_get("", "id")?,
            message_id: row.try_get("", "message_id").unwrap_or_default(),
            kind: row.try_get("", "type").unwrap_or_default(),
            due: row.try_get("", "due").ok(),
            retry_count: row.try_get("", "retry_count").unwrap_or_default(),
        },
        reason: format!("can't be read: {error}"),
    })
}

impl Claimed {
    pub(crate) fn failing(&self) -> Failing {
        Failing {
            id: self.id,
            message_id: self.message_id.to_string(),
            kind: self.kind.clone(),
            due: Some(self.due),
            retry_count: self.retry_count,
        }
    }
}
