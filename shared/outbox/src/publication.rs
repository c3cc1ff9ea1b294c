use std::collections::HashSet;

use database::{Dialect, HintSender};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr};
use tokio_util::sync::CancellationToken;

/// Tells relays in other processes to look now. Call `send` on it after each commit that appended.
#[must_use]
pub fn hint_sender(db: &DatabaseConnection, shutdown: CancellationToken) -> HintSender {
    HintSender::start(db, crate::HINT_CHANNEL, shutdown)
}

/// Of the given aggregates, those whose message of `aggregate_version` has not reached the broker.
///
/// A message without a row was sent long ago: only sent rows are ever cleaned up.
///
/// # Errors
/// Whatever the database answers.
pub async fn unsent_ids<C: ConnectionTrait>(
    connection: &C,
    aggregate_type: &str,
    aggregate_version: i64,
    aggregate_ids: &[String],
) -> Result<HashSet<String>, DbErr> {
    if aggregate_ids.is_empty() {
        return Ok(HashSet::new());
    }
    let sql = format!(
        "SELECT aggregate_id FROM outbox_messages
         WHERE aggregate_type = $1 AND aggregate_version = $2 AND status <> 'Sent'
           AND aggregate_id IN {}",
        Dialect::placeholders(3, aggregate_ids.len())
    );
    let mut values = vec![aggregate_type.into(), aggregate_version.into()];
    values.extend(aggregate_ids.iter().map(|id| id.as_str().into()));
    let statement = Dialect::of(connection).statement(sql, values);
    let rows = connection.query_all_raw(statement).await?;
    rows.iter().map(|row| row.try_get("", "aggregate_id")).collect()
}

/// The same question as an SQL condition for your own queries: true while the message of
/// `aggregate_version` about the aggregate whose id the SQL expression `aggregate_id` gives waits.
#[must_use]
pub fn unsent_condition(
    aggregate_type: &str,
    aggregate_version: i64,
    aggregate_id: &str,
) -> String {
    format!(
        "EXISTS (SELECT 1 FROM outbox_messages o
           WHERE o.aggregate_type = '{aggregate_type}' AND o.aggregate_id = {aggregate_id}
             AND o.aggregate_version = {aggregate_version} AND o.status <> 'Sent')"
    )
}
