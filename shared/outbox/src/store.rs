//! Every query of the relay. Each change of a claimed row names the claim's token: a relay that
//! was frozen past its lease finds that its token is gone, and changes nothing.

use std::time::Duration;

use chrono::{DateTime, Utc};
use database::Dialect;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr, QueryResult, Value};
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
    pub(crate) retry_count: i32,
}

/// A claim: who, with which fencing token.
pub(crate) struct Claim<'a> {
    pub(crate) owner: &'a str,
    pub(crate) token: &'a str,
}

/// Claims the oldest due rows, in one statement.
///
/// Only the *head* of each aggregate can be claimed: the one with no earlier unsent row. So one
/// aggregate's messages are never in flight together, in this relay or in any other, and no failure
/// can change their order. Rows that another relay is claiming right now are passed over.
pub(crate) async fn claim(
    db: &DatabaseConnection,
    claim: &Claim<'_>,
    lease: Duration,
    limit: u32,
) -> Result<Vec<Claimed>, DbErr> {
    let dialect = Dialect::of(db);
    let sql = format!(
        "UPDATE outbox_messages
         SET claimed_by = $1, claim_token = $2, claimed_until = {until}
         WHERE id IN (
           SELECT m.id FROM outbox_messages m
           WHERE m.status = 'Pending'
             AND (m.claimed_until IS NULL OR m.claimed_until < {now})
             AND COALESCE(m.next_attempt_at, m.occurred_on) <= {now}
             AND NOT EXISTS (
               SELECT 1 FROM outbox_messages earlier
               WHERE earlier.aggregate_type = m.aggregate_type
                 AND earlier.aggregate_id = m.aggregate_id
                 AND earlier.aggregate_version < m.aggregate_version
                 AND earlier.status IN ('Pending', 'Dead'))
           ORDER BY COALESCE(m.next_attempt_at, m.occurred_on), m.id LIMIT {limit} {skip_locked})
         RETURNING id, message_id, aggregate_type, aggregate_id, aggregate_version, type,
           schema_version, CAST(payload AS text) AS payload, CAST(headers AS text) AS headers,
           occurred_on, retry_count",
        until = dialect.now_plus_millis("$3"),
        now = dialect.now(),
        skip_locked = dialect.skip_locked(),
    );
    let values = [claim.owner.into(), claim.token.into(), millis(lease).into()];
    let rows = db.query_all_raw(dialect.statement(sql, values)).await?;
    let mut claimed = rows.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    // RETURNING is not ordered, whatever the sub-select says.
    claimed.sort_unstable_by_key(|row| row.id);
    Ok(claimed)
}

/// Marks rows as sent. Returns how many were still ours.
pub(crate) async fn mark_sent(
    db: &DatabaseConnection,
    token: &str,
    ids: &[i64],
) -> Result<u64, DbErr> {
    let change = format!(
        "status = 'Sent', sent_at = {}, last_error = NULL, next_attempt_at = NULL",
        Dialect::of(db).now()
    );
    write_back(db, token, ids, &change, vec![]).await
}

/// Gives rows back as if they had never been claimed: nothing is known against them.
pub(crate) async fn release(
    db: &DatabaseConnection,
    token: &str,
    ids: &[i64],
    reason: &str,
) -> Result<u64, DbErr> {
    write_back(db, token, ids, "last_error = $2", vec![reason.into()]).await
}

/// Gives rows back for later, without counting it against them.
pub(crate) async fn postpone(
    db: &DatabaseConnection,
    token: &str,
    ids: &[i64],
    delay: Duration,
    reason: &str,
) -> Result<u64, DbErr> {
    let next = Dialect::of(db).now_plus_millis("$3");
    let change = format!("last_error = $2, next_attempt_at = {next}");
    write_back(db, token, ids, &change, vec![reason.into(), millis(delay).into()]).await
}

/// Counts a failure of the row itself. Without a delay there is no further try: it is dead.
pub(crate) async fn fail(
    db: &DatabaseConnection,
    token: &str,
    id: i64,
    delay: Option<Duration>,
    reason: &str,
) -> Result<u64, DbErr> {
    match delay {
        Some(delay) => {
            let next = Dialect::of(db).now_plus_millis("$3");
            let change =
                format!("retry_count = retry_count + 1, last_error = $2, next_attempt_at = {next}");
            write_back(db, token, &[id], &change, vec![reason.into(), millis(delay).into()]).await
        }
        None => {
            let change = "retry_count = retry_count + 1, last_error = $2, status = 'Dead',
                          dead_at = {}, next_attempt_at = NULL";
            let change = change.replace("{}", &Dialect::of(db).now());
            write_back(db, token, &[id], &change, vec![reason.into()]).await
        }
    }
}

/// The one place that writes to claimed rows: always with the token, and always ending the claim.
async fn write_back(
    db: &DatabaseConnection,
    token: &str,
    ids: &[i64],
    change: &str,
    parameters: Vec<Value>,
) -> Result<u64, DbErr> {
    if ids.is_empty() {
        return Ok(0);
    }
    let mut values = vec![token.into()];
    values.extend(parameters);
    let sql = format!(
        "UPDATE outbox_messages
         SET {change}, claimed_by = NULL, claim_token = NULL, claimed_until = NULL
         WHERE claim_token = $1 AND status = 'Pending' AND id IN {}",
        Dialect::placeholders(values.len() + 1, ids.len())
    );
    values.extend(ids.iter().map(|id| Value::from(*id)));
    let result = db.execute_raw(Dialect::of(db).statement(sql, values)).await?;
    Ok(result.rows_affected())
}

/// How many rows are in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Counts {
    /// Waiting, claimed ones included.
    pub pending: i64,
    /// Confirmed by the broker and not cleaned up yet.
    pub sent: i64,
    /// Given up.
    pub dead: i64,
}

/// Counts the rows of an outbox.
///
/// # Errors
/// Whatever the database answers.
pub async fn counts<C: ConnectionTrait>(connection: &C) -> Result<Counts, DbErr> {
    let sql = "SELECT status, COUNT(*) AS n FROM outbox_messages GROUP BY status";
    let statement = Dialect::of(connection).statement(sql, []);
    let mut counts = Counts::default();
    for row in connection.query_all_raw(statement).await? {
        let n: i64 = row.try_get("", "n")?;
        match row.try_get::<String>("", "status")?.as_str() {
            "Pending" => counts.pending = n,
            "Sent" => counts.sent = n,
            "Dead" => counts.dead = n,
            _ => {}
        }
    }
    Ok(counts)
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
        retry_count: row.try_get("", "retry_count")?,
    })
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
