//! The queries that only look. Each list is read in the order of an index, and stops at its limit:
//! rows that wait by `outbox_messages_due`, dead and discarded ones by the partial indexes of their own,
//! all others by the primary key. States stand in them as literals, or no partial index would fit.

use database::Dialect;
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr, QueryResult, TransactionTrait,
    Value,
};

use super::{Action, Claim, Cursor, Details, Entry, Filter, MessageKey, State};

/// What [`entry`] reads.
fn columns(dialect: Dialect) -> String {
    format!(
        "id, message_id, status, type, aggregate_type, aggregate_id, aggregate_version,
         retry_count, last_error, {occurred_on} AS occurred_on, next_attempt_at, sent_at, dead_at,
         {due}",
        occurred_on = dialect.readable("occurred_on"),
        due = Cursor::due_column(dialect)
    )
}

/// Messages, newest first; those that wait, the one that is due last first.
///
/// # Errors
/// Whatever the database answers.
pub async fn list(
    db: &DatabaseConnection,
    filter: &Filter,
    limit: u64,
) -> Result<Vec<Entry>, DbErr> {
    let dialect = Dialect::of(db);
    // By id, PostgreSQL might look for the few that wait among all that were sent.
    let by_due = filter.state == Some(State::Pending);
    let mut values: Vec<Value> = vec![];
    let mut conditions = vec!["1 = 1".to_owned()];
    if let Some(state) = filter.state {
        conditions.push(format!("status = '{}'", state.column()));
    }
    if let Some(kind) = &filter.kind {
        values.push(kind.as_str().into());
        conditions.push(format!("type = ${}", values.len()));
    }
    if let Some(cursor) = &filter.cursor {
        values.push(cursor.id().into());
        let id = values.len();
        conditions.push(if by_due {
            values.push(cursor.due(dialect));
            format!("(COALESCE(next_attempt_at, occurred_on), id) < (${}, ${id})", values.len())
        } else {
            format!("id < ${id}")
        });
    }
    let sql = format!(
        "SELECT {} FROM outbox_messages WHERE {} ORDER BY {} LIMIT {limit}",
        columns(dialect),
        conditions.join(" AND "),
        if by_due { "COALESCE(next_attempt_at, occurred_on) DESC, id DESC" } else { "id DESC" },
    );
    let tx = db.begin().await?;
    by_index(&tx).await?;
    let rows = tx.query_all_raw(dialect.statement(sql, values)).await?;
    tx.commit().await?;
    rows.iter().map(entry).collect()
}

/// For the rest of the transaction PostgreSQL goes by an index, wherever there is one. By its
/// statistics it may prefer the table, with all sent rows in it: when they were taken, none of these
/// had been sent yet.
pub(super) async fn by_index(tx: &DatabaseTransaction) -> Result<(), DbErr> {
    if Dialect::of(tx) == Dialect::Postgres {
        tx.execute_unprepared("SET LOCAL enable_seqscan = off").await?;
    }
    Ok(())
}

/// Everything about one message.
///
/// # Errors
/// Whatever the database answers.
pub async fn show<C: ConnectionTrait>(
    connection: &C,
    id: impl Into<MessageKey>,
) -> Result<Option<Details>, DbErr> {
    let id = &id.into();
    let dialect = Dialect::of(connection);
    let sql = format!(
        "SELECT {columns}, schema_version, CAST(payload AS text) AS payload,
           CAST(headers AS text) AS headers, claimed_by, claimed_until
         FROM outbox_messages WHERE message_id = $1",
        columns = columns(dialect),
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

fn entry(row: &QueryResult) -> Result<Entry, DbErr> {
    // A row that somebody else wrote may be due at no time that can be shown: then it comes first.
    let due: Option<String> = row.try_get("", "due")?;
    let due = due.unwrap_or_else(|| "0001-01-01T00:00:00Z".to_owned());
    Ok(Entry {
        cursor: Cursor::of_columns(due, row.try_get("", "id")?),
        message_id: MessageKey::of_row(row)?,
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
