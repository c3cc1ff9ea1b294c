//! How often a message's handler was started without success. It is counted in the database, so
//! that it survives what the handler may do to its process.

use database::Dialect;
use sea_orm::{ConnectionTrait, DbErr};
use transport::MessageId;

/// Counts one more start and returns how many there were. `None`: its effect is there already, so
/// nothing will be started.
///
/// Run it outside of the inbox transaction, where it is committed at once: if the handler takes the
/// process with it, the count stays.
pub(crate) async fn start<C: ConnectionTrait>(
    db: &C,
    consumer: &str,
    message_id: MessageId,
) -> Result<Option<u32>, DbErr> {
    let dialect = Dialect::of(db);
    let sql = format!(
        "INSERT INTO inbox_attempts (consumer, message_id, starts, started_at)
         SELECT $1, $2, 1, {now} WHERE NOT EXISTS (
           SELECT 1 FROM inbox_messages WHERE consumer = $1 AND message_id = $2)
         ON CONFLICT (consumer, message_id) DO UPDATE
           SET starts = inbox_attempts.starts + 1, started_at = excluded.started_at
         RETURNING starts",
        now = dialect.now()
    );
    let statement = dialect.statement(sql, [consumer.into(), message_id.into()]);
    let Some(row) = db.query_one_raw(statement).await? else {
        return Ok(None);
    };
    let starts: i32 = row.try_get("", "starts")?;
    Ok(Some(starts.unsigned_abs()))
}

/// Whether starts of its handler are counted that have not come to an end.
pub(crate) async fn are_counted<C: ConnectionTrait>(
    tx: &C,
    consumer: &str,
    message_id: MessageId,
) -> Result<bool, DbErr> {
    let sql = "SELECT 1 AS found FROM inbox_attempts WHERE consumer = $1 AND message_id = $2";
    let statement = Dialect::of(tx).statement(sql, [consumer.into(), message_id.into()]);
    Ok(tx.query_one_raw(statement).await?.is_some())
}

/// Its handling has come to an end. Run it in the transaction that ends it.
pub(crate) async fn forget<C: ConnectionTrait>(
    tx: &C,
    consumer: &str,
    message_id: MessageId,
) -> Result<(), DbErr> {
    let sql = "DELETE FROM inbox_attempts WHERE consumer = $1 AND message_id = $2";
    let statement = Dialect::of(tx).statement(sql, [consumer.into(), message_id.into()]);
    tx.execute_raw(statement).await.map(|_| ())
}
