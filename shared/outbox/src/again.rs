//! A message of the outbox once more, for learning and for tests: what a relay does that died before
//! its mark, or whoever sets a sent row back to pending.

use database::Dialect;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr};
use transport::Message;

use crate::dead_letters::MessageKey;
use crate::rows::Rows;
use crate::{RelayOptions, envelope};

/// The message of a row, whatever its state, as the relay with these options publishes it: with the
/// same message id. The row is not touched. `None`: there is no such row.
///
/// # Errors
/// Whatever the database answers, or the row can't be made a message.
pub async fn message_of(
    db: &DatabaseConnection,
    key: &MessageKey,
    options: &RelayOptions,
) -> Result<Option<Message>, DbErr> {
    let dialect = Dialect::of(db);
    let sql = format!(
        "SELECT id, message_id, aggregate_type, aggregate_id, aggregate_version, type,
           schema_version, CAST(payload AS text) AS payload, CAST(headers AS text) AS headers,
           {occurred_on} AS occurred_on, {occurred_on} AS due, retry_count
         FROM outbox_messages WHERE message_id = $1",
        occurred_on = dialect.readable("occurred_on"),
    );
    let found = db.query_all_raw(dialect.statement(sql, [key.into()])).await?;
    let rows = Rows::read(&found)?;
    if let Some(garbage) = rows.garbage.first() {
        return Err(DbErr::Type(format!("message {key} {}", garbage.reason)));
    }
    let message = rows.readable.first().map(|row| envelope::message(row, options)).transpose();
    message.map_err(|error| DbErr::Json(format!("message {key} can't be made a message: {error}")))
}
