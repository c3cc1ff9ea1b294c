use database::Dialect;
use sea_orm::{ConnectionTrait, DatabaseTransaction, DbErr};
use serde_json::Value;
use transport::MessageId;

use crate::NewMessage;

/// Writes a message into the outbox, as part of `tx`: it exists exactly when the change beside it does.
///
/// It takes a transaction and not a connection on purpose. A message written on its own is the
/// mistake that this crate is there to prevent.
///
/// # Errors
/// Whatever the database answers. Let every error leave the transaction by `?`: after a failed
/// statement PostgreSQL's `COMMIT` rolls back, and reports success.
pub async fn append(tx: &DatabaseTransaction, message: NewMessage) -> Result<MessageId, DbErr> {
    let dialect = Dialect::of(tx);
    let sql = format!(
        "INSERT INTO outbox_messages
           (message_id, aggregate_type, aggregate_id, aggregate_version,
            type, schema_version, payload, headers, occurred_on)
         VALUES ($1, $2, $3, $4, $5, $6, {payload}, {headers}, {now})",
        payload = dialect.json("$7"),
        headers = dialect.json("$8"),
        now = dialect.moment(),
    );
    let message_id = message.message_id;
    let values = [
        message_id.into(),
        message.aggregate_type.into(),
        message.aggregate_id.into(),
        message.aggregate_version.into(),
        message.kind.into(),
        message.schema_version.into(),
        message.payload.to_string().into(),
        Value::Object(message.headers).to_string().into(),
    ];
    tx.execute_raw(dialect.statement(sql, values)).await?;
    Ok(message_id)
}
