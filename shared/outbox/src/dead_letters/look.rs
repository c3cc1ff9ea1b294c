//! The queries that only read. States stand in them as literals, so that the partial index of the
//! rows that wait or are dead can serve: it stays short however many were sent.

use database::Dialect;
use sea_orm::{ConnectionTrait, DbErr, QueryResult, Value};
use transport::MessageId;

use super::{Action, Claim, Details, Entry, Filter, State, Stats};

const ENTRY: &str = "id, message_id, status, type, aggregate_type, aggregate_id,
  aggregate_version, retry_count, last_error, occurred_on, next_attempt_at, sent_at, dead_at";

/// Messages, newest first.
///
/// # Errors
/// Whatever the database answers.
pub async fn list<C: ConnectionTrait>(
    connection: &C,
    filter: &Filter,
    limit: u64,
) -> Result<Vec<Entry>, DbErr> {
    let mut values: Vec<Value> = vec![];
    let mut conditions = vec!["1 = 1".to_owned()];
    if let Some(state) = filter.state {
        conditions.push(format!("status = '{}'", state.column()));
    }
    if let Some(kind) = &filter.kind {
        values.push(kind.as_str().into());
        conditions.push(format!("type = ${}", values.len()));
    }
    if let Some(cursor) = filter.cursor {
        values.push(cursor.into());
        conditions.push(format!("id < ${}", values.len()));
    }
    let sql = format!(
        "SELECT {ENTRY} FROM outbox_messages WHERE {} ORDER BY id DESC LIMIT {limit}",
        conditions.join(" AND ")
    );
    let statement = Dialect::of(connection).statement(sql, values);
    connection.query_all_raw(statement).await?.iter().map(entry).collect()
}

/// Everything about one message.
///
/// # Errors
/// Whatever the database answers.
pub async fn show<C: ConnectionTrait>(
    connection: &C,
    id: MessageId,
) -> Result<Option<Details>, DbErr> {
    let dialect = Dialect::of(connection);
    let sql = format!(
        "SELECT {ENTRY}, schema_version, CAST(payload AS text) AS payload,
           CAST(headers AS text) AS headers, claimed_by, claimed_until
         FROM outbox_messages WHERE message_id = $1"
    );
    let Some(row) = connection.query_one_raw(dialect.statement(sql, [id.into()])).await? else {
        return Ok(None);
    };
    let sql = "SELECT acted_at, actor, action, reason, last_error
               FROM outbox_actions WHERE message_id = $1 ORDER BY id";
    let actions = connection.query_all_raw(dialect.statement(sql, [id.into()])).await?;
    let actions = actions.iter().map(action).collect::<Result<_, _>>()?;
    details(&row, actions).map(Some)
}

/// The outbox in figures.
///
/// # Errors
/// Whatever the database answers.
pub async fn stats<C: ConnectionTrait>(connection: &C) -> Result<Stats, DbErr> {
    let dialect = Dialect::of(connection);
    let mut stats = Stats::default();
    let sql = "SELECT status, COUNT(*) AS n FROM outbox_messages GROUP BY status";
    for row in connection.query_all_raw(dialect.statement(sql, [])).await? {
        let n = row.try_get("", "n")?;
        match State::of_column(&row.try_get::<String>("", "status")?)? {
            State::Pending => stats.pending = n,
            State::Sent => stats.sent = n,
            State::Dead => stats.dead = n,
            State::Discarded => stats.discarded = n,
        }
    }
    let waiting = format!(
        "SELECT {age} AS age, COUNT(CASE WHEN claimed_until > {now} THEN 1 END) AS claimed,
           COUNT(CASE WHEN retry_count > 0 THEN 1 END) AS failing
         FROM outbox_messages WHERE status = 'Pending'",
        age = dialect.age_millis("MIN(occurred_on)"),
        now = dialect.now(),
    );
    let blocked = "SELECT COUNT(*) AS aggregates, CAST(COALESCE(SUM(n), 0) AS bigint) AS messages
         FROM (SELECT COUNT(*) AS n FROM outbox_messages m
           WHERE m.status = 'Pending' AND EXISTS (
             SELECT 1 FROM outbox_messages head
             WHERE head.status = 'Dead' AND head.aggregate_type = m.aggregate_type
               AND head.aggregate_id = m.aggregate_id
               AND head.aggregate_version < m.aggregate_version)
           GROUP BY m.aggregate_type, m.aggregate_id) blocked";
    if let Some(row) = connection.query_one_raw(dialect.statement(waiting, [])).await? {
        stats.oldest_pending_age_ms = row.try_get("", "age")?;
        stats.claimed = row.try_get("", "claimed")?;
        stats.failing = row.try_get("", "failing")?;
    }
    if let Some(row) = connection.query_one_raw(dialect.statement(blocked, [])).await? {
        stats.blocked_messages = row.try_get("", "messages")?;
        stats.blocked_aggregates = row.try_get("", "aggregates")?;
    }
    Ok(stats)
}

fn entry(row: &QueryResult) -> Result<Entry, DbErr> {
    Ok(Entry {
        id: row.try_get("", "id")?,
        message_id: row.try_get("", "message_id")?,
        state: State::of_column(&row.try_get::<String>("", "status")?)?,
        kind: row.try_get("", "type")?,
        aggregate_type: row.try_get("", "aggregate_type")?,
        aggregate_id: row.try_get("", "aggregate_id")?,
        aggregate_version: row.try_get("", "aggregate_version")?,
        retry_count: row.try_get("", "retry_count")?,
        last_error: row.try_get("", "last_error")?,
        occurred_on: row.try_get("", "occurred_on")?,
        next_attempt_at: row.try_get("", "next_attempt_at")?,
        sent_at: row.try_get("", "sent_at")?,
        dead_at: row.try_get("", "dead_at")?,
    })
}

fn details(row: &QueryResult, actions: Vec<Action>) -> Result<Details, DbErr> {
    let payload_text: String = row.try_get("", "payload")?;
    let headers: String = row.try_get("", "headers")?;
    let claimed_by: Option<String> = row.try_get("", "claimed_by")?;
    let claimed_until = row.try_get("", "claimed_until")?;
    Ok(Details {
        entry: entry(row)?,
        schema_version: row.try_get("", "schema_version")?,
        payload: serde_json::from_str(&payload_text).unwrap_or_default(),
        payload_text,
        headers: serde_json::from_str(&headers).unwrap_or_else(|_| headers.into()),
        claim: claimed_by.zip(claimed_until).map(|(by, until)| Claim { by, until }),
        actions,
    })
}

fn action(row: &QueryResult) -> Result<Action, DbErr> {
    Ok(Action {
        at: row.try_get("", "acted_at")?,
        actor: row.try_get("", "actor")?,
        action: row.try_get("", "action")?,
        reason: row.try_get("", "reason")?,
        last_error: row.try_get("", "last_error")?,
    })
}
