//! Every query of the cleaning.

use std::time::Duration;

use database::{Dialect, begin_write};
use sea_orm::{ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr, Value};

use super::RetentionMode;

/// A hundred years stand for "for ever": no calendar of a database ends before that.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// A few rows, one after another by their primary key.
pub(super) struct Stretch {
    pub(super) last_id: i64,
    /// Those that may go.
    pub(super) removable: Vec<i64>,
    /// The last row was written so lately that what comes after it can't be old enough.
    pub(super) ends_young: bool,
}

/// The next rows after `after`; `None` at the end of the table.
pub(super) async fn stretch(
    db: &DatabaseConnection,
    after: i64,
    retention: Duration,
    limit: u32,
) -> Result<Option<Stretch>, DbErr> {
    let dialect = Dialect::of(db);
    let sql = format!(
        "SELECT id,
           CASE WHEN {old_enough} THEN 1 ELSE 0 END AS removable,
           CASE WHEN occurred_on < {cut_off} THEN 0 ELSE 1 END AS young
         FROM outbox_messages WHERE id > $2 ORDER BY id LIMIT {limit}",
        old_enough = old_enough(dialect),
        cut_off = dialect.millis_ago("$1"),
    );
    let values = [millis(retention), after.into()];
    let rows = db.query_all_raw(dialect.statement(sql, values)).await?;
    let Some(last) = rows.last() else {
        return Ok(None);
    };
    let (last_id, young) = (last.try_get("", "id")?, last.try_get::<i32>("", "young")?);
    let mut removable = Vec::new();
    for row in &rows {
        if row.try_get::<i32>("", "removable")? == 1 {
            removable.push(row.try_get("", "id")?);
        }
    }
    Ok(Some(Stretch { last_id, removable, ends_young: young == 1 }))
}

/// Removes those of the rows that may still go, in one transaction: a crash in between leaves each
/// of them where it was or where it belongs, never in both tables and never in none.
pub(super) async fn remove(
    db: &DatabaseConnection,
    ids: &[i64],
    retention: Duration,
    mode: RetentionMode,
) -> Result<u64, DbErr> {
    let tx = begin_write(db).await?;
    let ids = lock(&tx, ids, retention).await?;
    if ids.is_empty() {
        return Ok(0);
    }
    if mode == RetentionMode::Archive {
        archive(&tx, &ids).await?;
    }
    let sql = format!("DELETE FROM outbox_messages WHERE id IN {}", placeholders(&ids));
    let deleted = tx.execute_raw(Dialect::of(&tx).statement(sql, values(&ids))).await?;
    tx.commit().await?;
    Ok(deleted.rows_affected())
}

/// The rows are looked at once more: one may have been set back to `Pending` in the meantime, to be
/// sent again. A row that somebody else works on is passed over, until the next run.
async fn lock(
    tx: &DatabaseTransaction,
    ids: &[i64],
    retention: Duration,
) -> Result<Vec<i64>, DbErr> {
    let dialect = Dialect::of(tx);
    let sql = format!(
        "SELECT id FROM outbox_messages WHERE {old_enough} AND id IN {ids} {skip_locked}",
        old_enough = old_enough(dialect),
        ids = Dialect::placeholders(2, ids.len()),
        skip_locked = dialect.skip_locked("outbox_messages"),
    );
    let values = std::iter::once(millis(retention)).chain(values(ids));
    let rows = tx.query_all_raw(dialect.statement(sql, values)).await?;
    rows.iter().map(|row| row.try_get("", "id")).collect()
}

async fn archive(tx: &DatabaseTransaction, ids: &[i64]) -> Result<(), DbErr> {
    let dialect = Dialect::of(tx);
    // Conflicts: a message that was brought back from the archive and sent again is there already.
    let sql = format!(
        "INSERT INTO outbox_archives
           (id, message_id, aggregate_type, aggregate_id, aggregate_version,
            type, schema_version, payload, headers, occurred_on, sent_at, archived_at)
         SELECT id, message_id, aggregate_type, aggregate_id, aggregate_version,
            type, schema_version, payload, headers, occurred_on, sent_at, {now}
         FROM outbox_messages WHERE id IN {ids}
         ON CONFLICT (message_id) DO NOTHING",
        now = dialect.now(),
        ids = placeholders(ids),
    );
    tx.execute_raw(dialect.statement(sql, values(ids))).await.map(|_| ())
}

/// How many rows a run would remove now. It goes through the whole table in short statements.
///
/// # Errors
/// Whatever the database answers.
pub async fn count_removable(db: &DatabaseConnection, retention: Duration) -> Result<u64, DbErr> {
    let (mut after, mut count) = (0, 0);
    while let Some(stretch) = stretch(db, after, retention, 10_000).await? {
        if stretch.removable.is_empty() && stretch.ends_young {
            break;
        }
        count += stretch.removable.len() as u64;
        after = stretch.last_id;
    }
    Ok(count)
}

/// The one condition under which a row may go; `$1` is the retention. By the database's clock, as
/// `sent_at` is: a program whose clock is ahead would delete what is still wanted.
fn old_enough(dialect: Dialect) -> String {
    format!("status = 'Sent' AND sent_at < {}", dialect.millis_ago("$1"))
}

fn millis(retention: Duration) -> Value {
    i64::try_from(retention.min(FOR_EVER).as_millis()).unwrap_or(i64::MAX).into()
}

fn placeholders(ids: &[i64]) -> String {
    Dialect::placeholders(1, ids.len())
}

fn values(ids: &[i64]) -> impl Iterator<Item = Value> {
    ids.iter().map(|id| Value::from(*id))
}

#[cfg(test)]
mod tests {
    use test_kit::{Backing, Storage, connect};

    use super::*;
    use crate::{NewMessage, append};

    #[tokio::test]
    async fn a_row_that_is_set_back_to_pending_after_it_was_found_is_not_removed() {
        let storage = Storage::new(Backing::Embedded);
        let url = storage.create_database("outbox").await.expect("a database");
        let db = connect(&url).expect("a pool");
        crate::schema::up(&db).await.expect("tables");
        let tx = begin_write(&db).await.expect("a transaction");
        for version in [1, 2] {
            let message = NewMessage::new("order", "a", version, "OrderPlaced", &version);
            append(&tx, message.expect("JSON")).await.expect("appended");
        }
        tx.commit().await.expect("committed");
        let sent =
            "UPDATE outbox_messages SET status = 'Sent', sent_at = '2000-01-01T00:00:00+00:00'";
        db.execute_unprepared(sent).await.expect("sent");

        let found = stretch(&db, 0, Duration::ZERO, 10).await.expect("rows").expect("rows");
        assert_eq!(found.removable.len(), 2);
        let again = "UPDATE outbox_messages SET status = 'Pending' WHERE aggregate_version = 2";
        db.execute_unprepared(again).await.expect("set back");

        let removed = remove(&db, &found.removable, Duration::ZERO, RetentionMode::Delete).await;
        assert_eq!(removed.expect("a removal"), 1);
    }
}
