//! What a relay writes back, and counts of rows. Each change of a claimed row names the claim's token:
//! a relay that was frozen past its lease finds that its token is gone, and changes nothing.

use std::time::Duration;

use database::Dialect;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr, Statement, Value};

use crate::claim::pending;

/// When a row that was given back may be claimed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// At once. A leader, which keeps the total order, waits by itself.
    AtOnce,
    /// After a while.
    After(Duration),
    /// Never: it is dead.
    Never,
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
    reason: Option<&str>,
) -> Result<u64, DbErr> {
    let change = "last_error = COALESCE($3, last_error)";
    write_back(db, token, ids, change, vec![reason.into()]).await
}

/// Gives rows back for later, without counting it against them.
pub(crate) async fn postpone(
    db: &DatabaseConnection,
    token: &str,
    ids: &[i64],
    again: Again,
    reason: &str,
) -> Result<u64, DbErr> {
    let (change, values) = change(Dialect::of(db), again, reason);
    write_back(db, token, ids, &change, values).await
}

/// Counts a failure of the rows themselves. Returns those that were still ours.
pub(crate) async fn fail(
    db: &DatabaseConnection,
    token: &str,
    ids: &[i64],
    again: Again,
    reason: &str,
) -> Result<Vec<i64>, DbErr> {
    let (change, values) = change(Dialect::of(db), again, reason);
    let change = format!("retry_count = retry_count + 1, {change}");
    let mut statement = statement(Dialect::of(db), token, ids, &change, values);
    statement.sql.push_str(" RETURNING id");
    let rows = db.query_all_raw(statement).await?;
    rows.iter().map(|row| row.try_get("", "id")).collect()
}

fn change(dialect: Dialect, again: Again, reason: &str) -> (String, Vec<Value>) {
    match again {
        Again::AtOnce => {
            ("last_error = $3, next_attempt_at = NULL".to_owned(), vec![reason.into()])
        }
        Again::After(delay) => {
            let next = dialect.now_plus_millis("$4");
            let change = format!("last_error = $3, next_attempt_at = {next}");
            (change, vec![reason.into(), millis(delay).into()])
        }
        Again::Never => {
            let now = dialect.now();
            let change = format!(
                "last_error = $3, next_attempt_at = NULL, status = 'Dead', dead_at = {now}"
            );
            (change, vec![reason.into()])
        }
    }
}

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
    let statement = statement(Dialect::of(db), token, ids, change, parameters);
    Ok(db.execute_raw(statement).await?.rows_affected())
}

/// The one statement that writes to claimed rows: always with the token, and always ending the claim.
/// `change` has its parameters from `$3` on.
fn statement(
    dialect: Dialect,
    token: &str,
    ids: &[i64],
    change: &str,
    parameters: Vec<Value>,
) -> Statement {
    let sql = format!(
        "UPDATE outbox_messages
         SET {change}, claimed_by = NULL, claim_token = NULL, claimed_until = NULL
         WHERE claim_token = $1 AND {pending} AND id {among}",
        pending = pending("outbox_messages"),
        among = dialect.among("$2"),
    );
    let values = [token.into(), dialect.ids(ids.iter().copied())];
    dialect.statement(sql, values.into_iter().chain(parameters))
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

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
