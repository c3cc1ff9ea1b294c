//! Every query about parked messages.

use std::time::Duration;

use database::{Dialect, begin_write};
use sea_orm::{ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr, QueryResult};
use transport::{Headers, Message, Properties};

use super::{Action, ActionError, By, Details, Entry, Filter, Horizon, ParkedId, Retried, State};
use crate::Unreadable;
use crate::parking::storable;

const ENTRY: &str = "parked_id, state, consumer, message_id, type, reason, detail, parked_at";

/// A parked message, ready to be tried again.
pub(super) struct Stored {
    pub(super) state: State,
    pub(super) consumer: String,
    /// How long ago it was parked, by the database's clock.
    pub(super) age: Duration,
    pub(super) message: Message,
}

/// The envelope as `parking` wrote it.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    routing_key: String,
    properties: Properties,
    headers: Headers,
}

/// Parked messages, newest first.
///
/// # Errors
/// Whatever the database answers.
pub async fn list<C: ConnectionTrait>(
    connection: &C,
    filter: &Filter,
    limit: u64,
) -> Result<Vec<Entry>, DbErr> {
    let (condition, mut values) = condition(filter);
    let mut sql = format!("SELECT {ENTRY} FROM parked_messages WHERE {condition}");
    if let Some(cursor) = filter.cursor {
        values.push(cursor.into());
        sql += &format!(" AND parked_id < ${}", values.len());
    }
    sql += &format!(" ORDER BY parked_id DESC LIMIT {limit}");
    let statement = Dialect::of(connection).statement(sql, values);
    connection.query_all_raw(statement).await?.iter().map(entry).collect()
}

/// Everything about one parked message.
///
/// # Errors
/// Whatever the database answers.
pub async fn show<C: ConnectionTrait>(
    connection: &C,
    id: ParkedId,
) -> Result<Option<Details>, DbErr> {
    let dialect = Dialect::of(connection);
    let sql = format!(
        "SELECT {ENTRY}, CAST(properties AS text) AS properties, body
         FROM parked_messages WHERE parked_id = $1"
    );
    let Some(row) = connection.query_one_raw(dialect.statement(sql, [id.into()])).await? else {
        return Ok(None);
    };
    let sql = "SELECT acted_at, actor, action, reason, outcome
               FROM parked_actions WHERE parked_id = $1 ORDER BY id";
    let actions = connection.query_all_raw(dialect.statement(sql, [id.into()])).await?;
    let properties: String = row.try_get("", "properties")?;
    let body: Vec<u8> = row.try_get("", "body")?;
    Ok(Some(Details {
        entry: entry(&row)?,
        properties: serde_json::from_str(&properties).unwrap_or_else(|_| properties.into()),
        body_hex: body.iter().map(|byte| format!("{byte:02x}")).collect(),
        body: String::from_utf8(body).ok(),
        actions: actions.iter().map(action).collect::<Result<_, _>>()?,
    }))
}

/// Gives a parked message up for good. It stays visible, and is never retried.
///
/// # Errors
/// It is not there or not parked; or whatever the database answers.
pub async fn discard(
    db: &DatabaseConnection,
    id: ParkedId,
    actor: &str,
    reason: &str,
) -> Result<(), ActionError> {
    let by = By { actor: actor.to_owned(), reason: Some(reason.to_owned()) };
    let tx = begin_write(db).await?;
    if !leave(&tx, id, State::Discarded).await? {
        return Err(not_parked(&tx, id).await);
    }
    record(&tx, id, "discard", &by, None).await?;
    tx.commit().await?;
    tracing::info!(parked_id = %id, by.actor, "a parked message was discarded");
    Ok(())
}

/// Why a message that should be parked isn't.
pub(super) async fn not_parked<C: ConnectionTrait>(connection: &C, id: ParkedId) -> ActionError {
    match show(connection, id).await {
        Ok(Some(details)) => ActionError::NotParked { id, state: details.entry.state },
        Ok(None) => ActionError::NotFound(id),
        Err(error) => error.into(),
    }
}

/// From `parked` to another state. False: somebody else was first.
pub(super) async fn leave(
    tx: &DatabaseTransaction,
    id: ParkedId,
    state: State,
) -> Result<bool, DbErr> {
    let sql = "UPDATE parked_messages SET state = $1 WHERE parked_id = $2 AND state = 'parked'";
    let values = [state.to_string().into(), id.into()];
    let changed = tx.execute_raw(Dialect::of(tx).statement(sql, values)).await?;
    Ok(changed.rows_affected() == 1)
}

/// It stays parked, for a reason that may be new. False: somebody else was first.
pub(super) async fn stay(
    tx: &DatabaseTransaction,
    id: ParkedId,
    why: &Unreadable,
) -> Result<bool, DbErr> {
    let sql = "UPDATE parked_messages SET reason = $1, detail = $2
               WHERE parked_id = $3 AND state = 'parked'";
    let detail = storable(Some(&why.detail));
    let values = [why.reason.to_string().into(), detail.into(), id.into()];
    let changed = tx.execute_raw(Dialect::of(tx).statement(sql, values)).await?;
    Ok(changed.rows_affected() == 1)
}

/// Writes down who did what, and what came of it.
pub(super) async fn record(
    tx: &DatabaseTransaction,
    id: ParkedId,
    action: &'static str,
    by: &By,
    outcome: Option<&str>,
) -> Result<(), DbErr> {
    let dialect = Dialect::of(tx);
    let sql = format!(
        "INSERT INTO parked_actions (acted_at, actor, action, parked_id, reason, outcome)
         VALUES ({now}, $1, '{action}', $2, $3, $4)",
        now = dialect.now(),
    );
    let outcome = storable(outcome);
    let values = [by.actor.as_str().into(), id.into(), by.reason.clone().into(), outcome.into()];
    tx.execute_raw(dialect.statement(sql, values)).await.map(|_| ())
}

/// Loads a message for another try.
pub(super) async fn load(db: &DatabaseConnection, id: ParkedId) -> Result<Option<Stored>, DbErr> {
    let dialect = Dialect::of(db);
    let sql = format!(
        "SELECT state, consumer, {age} AS age, CAST(properties AS text) AS properties, body
         FROM parked_messages WHERE parked_id = $1",
        age = dialect.age_millis("parked_at"),
    );
    let row = db.query_one_raw(dialect.statement(sql, [id.into()])).await?;
    row.as_ref().map(stored).transpose()
}

/// How many parked messages a filter selects, within the horizon and beyond it.
pub(super) async fn count(
    db: &DatabaseConnection,
    filter: &Filter,
    horizon: Horizon,
) -> Result<Retried, DbErr> {
    let dialect = Dialect::of(db);
    let (condition, mut values) = condition(filter);
    let within = match horizon {
        Horizon::Forced => "1 = 1".to_owned(),
        Horizon::Within(retention) => {
            values.push(i64::try_from(retention.as_millis()).unwrap_or(i64::MAX).into());
            format!("{} <= ${}", dialect.age_millis("parked_at"), values.len())
        }
    };
    let sql = format!(
        "SELECT COUNT(*) AS n, COUNT(CASE WHEN {within} THEN 1 END) AS young
         FROM parked_messages WHERE {condition}"
    );
    let row = db.query_one_raw(dialect.statement(sql, values)).await?;
    let row = row.ok_or_else(|| DbErr::RecordNotFound("a count".to_owned()))?;
    let (all, young): (i64, i64) = (row.try_get("", "n")?, row.try_get("", "young")?);
    let too_old = (all - young).unsigned_abs();
    Ok(Retried { count: young.unsigned_abs(), too_old, ..Retried::default() })
}

/// The next ids of a filter, oldest first.
pub(super) async fn ids_after(
    db: &DatabaseConnection,
    filter: &Filter,
    after: Option<ParkedId>,
    limit: u64,
) -> Result<Vec<ParkedId>, DbErr> {
    let (condition, mut values) = condition(filter);
    let mut sql = format!("SELECT parked_id FROM parked_messages WHERE {condition}");
    if let Some(after) = after {
        values.push(after.into());
        sql += &format!(" AND parked_id > ${}", values.len());
    }
    sql += &format!(" ORDER BY parked_id LIMIT {limit}");
    let rows = db.query_all_raw(Dialect::of(db).statement(sql, values)).await?;
    rows.iter().map(|row| row.try_get("", "parked_id")).collect()
}

/// A filter as a condition and its values, the cursor left out.
fn condition(filter: &Filter) -> (String, Vec<sea_orm::Value>) {
    let mut values: Vec<sea_orm::Value> = vec![];
    let mut condition = "1 = 1".to_owned();
    let mut add = |test: &str, value: sea_orm::Value| {
        values.push(value);
        condition += &format!(" AND {test} ${}", values.len());
    };
    if let Some(consumer) = &filter.consumer {
        add("consumer =", consumer.as_str().into());
    }
    if let Some(reason) = filter.reason {
        add("reason =", reason.to_string().into());
    }
    if let Some(state) = filter.state {
        add("state =", state.to_string().into());
    }
    if let Some(kind) = &filter.kind {
        add("type =", kind.as_str().into());
    }
    if let Some(before) = filter.before {
        add("parked_at <", before.into());
    }
    (condition, values)
}

fn state(row: &QueryResult) -> Result<State, DbErr> {
    let text: String = row.try_get("", "state")?;
    text.parse().map_err(|error| DbErr::Type(format!("parked_messages.state {text:?}: {error}")))
}

fn entry(row: &QueryResult) -> Result<Entry, DbErr> {
    Ok(Entry {
        parked_id: row.try_get("", "parked_id")?,
        state: state(row)?,
        consumer: row.try_get("", "consumer")?,
        message_id: row.try_get("", "message_id")?,
        kind: row.try_get("", "type")?,
        reason: row.try_get("", "reason")?,
        detail: row.try_get("", "detail")?,
        parked_at: row.try_get("", "parked_at")?,
    })
}

fn action(row: &QueryResult) -> Result<Action, DbErr> {
    Ok(Action {
        at: row.try_get("", "acted_at")?,
        actor: row.try_get("", "actor")?,
        action: row.try_get("", "action")?,
        reason: row.try_get("", "reason")?,
        outcome: row.try_get("", "outcome")?,
    })
}

fn stored(row: &QueryResult) -> Result<Stored, DbErr> {
    let properties: String = row.try_get("", "properties")?;
    let envelope: Envelope = serde_json::from_str(&properties)
        .map_err(|error| DbErr::Type(format!("parked_messages.properties: {error}")))?;
    let age: i64 = row.try_get("", "age")?;
    Ok(Stored {
        state: state(row)?,
        age: Duration::from_millis(u64::try_from(age).unwrap_or_default()),
        consumer: row.try_get("", "consumer")?,
        message: Message {
            routing_key: envelope.routing_key,
            properties: envelope.properties,
            headers: envelope.headers,
            body: row.try_get("", "body")?,
        },
    })
}
