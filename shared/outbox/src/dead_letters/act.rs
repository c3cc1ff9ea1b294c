//! The actions. Each locks its rows first, so that of two people who act at once the second one
//! sees what the first one did.

use std::time::Duration;

use database::{Dialect, begin_write};
use sea_orm::{ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr, Value};

use super::{ActionError, By, Horizon, MessageKey, Retried, Run, Selection, State};

/// Rows in one transaction of [`retry_many`]: no lock is held for long.
const BATCH: usize = 500;

/// As if it had never been tried. The id, the version and the payload stay.
const REVIVE: &str = "status = 'Pending', retry_count = 0, last_error = NULL, next_attempt_at = NULL, dead_at = NULL";

/// Gives a dead message all its tries again, from now on, and wakes the relays.
///
/// # Errors
/// It is not there, not dead, or older than the horizon; or whatever the database answers.
pub async fn retry(
    db: &DatabaseConnection,
    id: impl Into<MessageKey>,
    by: &By,
    horizon: Horizon,
) -> Result<(), ActionError> {
    let id = id.into();
    let tx = begin_write(db).await?;
    let row = lock_dead(&tx, &id).await?;
    if let Horizon::Within(retention) = horizon
        && row.age > retention
    {
        return Err(ActionError::TooOld { id, age: row.age, retention });
    }
    record(&tx, "retry", by, &[row.id]).await?;
    change(&tx, REVIVE, &[row.id]).await?;
    tx.commit().await?;
    tracing::info!(message_id = %id, by.actor, "a dead message is pending again");
    wake_relays(db).await;
    Ok(())
}

/// Gives a dead message up for good. It stays, and what waited behind it flows.
///
/// # Errors
/// It is not there or not dead; or whatever the database answers.
pub async fn discard(
    db: &DatabaseConnection,
    id: impl Into<MessageKey>,
    actor: &str,
    reason: &str,
) -> Result<(), ActionError> {
    let by = By { actor: actor.to_owned(), reason: Some(reason.to_owned()) };
    let id = id.into();
    let tx = begin_write(db).await?;
    let row = lock_dead(&tx, &id).await?;
    record(&tx, "discard", &by, &[row.id]).await?;
    change(&tx, "status = 'Discarded'", &[row.id]).await?;
    tx.commit().await?;
    tracing::info!(message_id = %id, by.actor, "a dead message was discarded");
    wake_relays(db).await;
    Ok(())
}

/// Retries all dead messages of a selection that are within the horizon, oldest first, in batches.
/// An error in mid-way leaves the batches before it retried; call it again for the rest.
///
/// # Errors
/// Whatever the database answers.
pub async fn retry_many(
    db: &DatabaseConnection,
    selection: &Selection,
    by: &By,
    horizon: Horizon,
    run: Run,
) -> Result<Retried, DbErr> {
    let mut retried = count(db, selection, horizon).await?;
    if run == Run::Dry {
        return Ok(retried);
    }
    retried.count = 0;
    // By id, never from the start again: what dies anew meanwhile is not retried for ever.
    let mut last = 0;
    loop {
        let tx = begin_write(db).await?;
        let ids = lock_batch(&tx, selection, horizon, last).await?;
        let Some(highest) = ids.last() else {
            break;
        };
        last = *highest;
        record(&tx, "retry", by, &ids).await?;
        change(&tx, REVIVE, &ids).await?;
        tx.commit().await?;
        wake_relays(db).await;
        retried.count += ids.len() as u64;
        tracing::info!(messages = ids.len(), by.actor, "dead messages are pending again");
    }
    Ok(retried)
}

struct DeadRow {
    id: i64,
    age: Duration,
}

/// Locks the row, or says why it is not to be acted on.
async fn lock_dead(tx: &DatabaseTransaction, id: &MessageKey) -> Result<DeadRow, ActionError> {
    let dialect = Dialect::of(tx);
    let sql = format!(
        "SELECT id, status, {age} AS age FROM outbox_messages WHERE message_id = $1 {for_update}",
        age = dialect.age_millis(&dialect.readable("occurred_on")),
        for_update = dialect.for_update(),
    );
    let row = tx.query_one_raw(dialect.statement(sql, [id.into()])).await?;
    let row = row.ok_or_else(|| ActionError::NotFound(id.clone()))?;
    let state = State::of_column(&row.try_get::<String>("", "status")?)?;
    if state != State::Dead {
        return Err(ActionError::NotDead { id: id.clone(), state });
    }
    let age: Option<i64> = row.try_get("", "age")?;
    let age = age
        .map_or(Duration::MAX, |age| Duration::from_millis(u64::try_from(age).unwrap_or_default()));
    Ok(DeadRow { id: row.try_get("", "id")?, age })
}

/// The dead rows of a selection, as a condition and its values.
fn dead(selection: &Selection) -> (String, Vec<Value>) {
    let mut values: Vec<Value> = vec![];
    let mut condition = "status = 'Dead'".to_owned();
    if let Some(kind) = &selection.kind {
        values.push(kind.as_str().into());
        condition += &format!(" AND type = ${}", values.len());
    }
    if let Some(before) = selection.before {
        values.push(before.into());
        condition += &format!(" AND occurred_on < ${}", values.len());
    }
    (condition, values)
}

/// True for rows within the horizon.
fn within(dialect: Dialect, horizon: Horizon, values: &mut Vec<Value>) -> String {
    match horizon {
        Horizon::Forced => "1 = 1".to_owned(),
        Horizon::Within(retention) => {
            values.push(i64::try_from(retention.as_millis()).unwrap_or(i64::MAX).into());
            let age = dialect.age_millis(&dialect.readable("occurred_on"));
            format!("{age} <= ${}", values.len())
        }
    }
}

async fn count(
    db: &DatabaseConnection,
    selection: &Selection,
    horizon: Horizon,
) -> Result<Retried, DbErr> {
    let dialect = Dialect::of(db);
    let (dead, mut values) = dead(selection);
    let within = within(dialect, horizon, &mut values);
    let sql = format!(
        "SELECT COUNT(*) AS n, COUNT(CASE WHEN {within} THEN 1 END) AS young
         FROM outbox_messages WHERE {dead}"
    );
    let row = db.query_one_raw(dialect.statement(sql, values)).await?;
    let row = row.ok_or_else(|| DbErr::RecordNotFound("a count".to_owned()))?;
    let (all, young): (i64, i64) = (row.try_get("", "n")?, row.try_get("", "young")?);
    Ok(Retried { count: young.unsigned_abs(), too_old: (all - young).unsigned_abs() })
}

/// Locks the next rows; those that somebody else is acting on right now are theirs.
async fn lock_batch(
    tx: &DatabaseTransaction,
    selection: &Selection,
    horizon: Horizon,
    after: i64,
) -> Result<Vec<i64>, DbErr> {
    let dialect = Dialect::of(tx);
    let (dead, mut values) = dead(selection);
    let within = within(dialect, horizon, &mut values);
    values.push(after.into());
    let sql = format!(
        "SELECT id FROM outbox_messages WHERE {dead} AND {within} AND id > ${last}
         ORDER BY id LIMIT {BATCH} {skip_locked}",
        last = values.len(),
        skip_locked = dialect.skip_locked("outbox_messages"),
    );
    let rows = tx.query_all_raw(dialect.statement(sql, values)).await?;
    rows.iter().map(|row| row.try_get("", "id")).collect()
}

/// Writes down who does what to these rows, and what they said before. Comes before the change.
async fn record(
    tx: &DatabaseTransaction,
    action: &'static str,
    by: &By,
    ids: &[i64],
) -> Result<(), DbErr> {
    let dialect = Dialect::of(tx);
    let sql = format!(
        "INSERT INTO outbox_actions (acted_at, actor, action, message_id, reason, last_error)
         SELECT {now}, $1, '{action}', message_id, $2, last_error
         FROM outbox_messages WHERE id IN {ids} ORDER BY id",
        now = dialect.now(),
        ids = Dialect::placeholders(3, ids.len()),
    );
    let mut values: Vec<Value> = vec![by.actor.as_str().into(), by.reason.clone().into()];
    values.extend(ids.iter().map(|id| Value::from(*id)));
    tx.execute_raw(dialect.statement(sql, values)).await.map(|_| ())
}

async fn change(tx: &DatabaseTransaction, change: &str, ids: &[i64]) -> Result<(), DbErr> {
    let ids_list = Dialect::placeholders(1, ids.len());
    let sql = format!("UPDATE outbox_messages SET {change} WHERE id IN {ids_list}");
    let values = ids.iter().map(|id| Value::from(*id));
    tx.execute_raw(Dialect::of(tx).statement(sql, values)).await.map(|_| ())
}

/// After the commit, and best effort: the relays' poll finds the rows as well. SQLite's relays watch
/// the file themselves.
async fn wake_relays(db: &DatabaseConnection) {
    if Dialect::of(db) == Dialect::Postgres {
        let _ = db.execute_unprepared(&format!("NOTIFY {}", crate::HINT_CHANNEL)).await;
    }
}
