//! The messages in a broker that is a queue in SQL. No other broker can be looked into without taking
//! something out.

use sea_orm::{DatabaseConnection, DbErr};
use serde_json::{Value, json};
use transport::{Headers, Properties};

use super::table::{Query, Table, read_table};

/// As the tables have them; [`queue_messages`] makes of the third and fourth what the page shows.
const MESSAGES: Query = Query {
    name: "queueMessages",
    table: "broker_messages",
    columns: &["queue", "properties", "headers", "deliveries", "leased"],
    sql: "SELECT queue, properties, headers, deliveries,
      CASE WHEN leased_until >= {now} THEN 1 ELSE 0 END FROM broker_messages ORDER BY id DESC",
};

const COLUMNS: [&str; 6] = ["queue", "messageId", "type", "aggregateId", "deliveries", "leased"];

/// The newest messages in all queues.
pub(crate) async fn queue_messages(db: &DatabaseConnection) -> Result<Table, DbErr> {
    let Table { total, rows, .. } = read_table(db, &MESSAGES).await?;
    Ok(Table {
        total,
        columns: COLUMNS.to_vec(),
        rows: rows.iter().map(|row| shown(row)).collect(),
    })
}

/// What can't be read is left empty: a stranger may have written it.
fn shown(row: &[Value]) -> Vec<Value> {
    let text = |index: usize| row.get(index).and_then(Value::as_str).unwrap_or_default();
    let properties: Properties = serde_json::from_str(text(1)).unwrap_or_default();
    let headers: Headers = serde_json::from_str(text(2)).unwrap_or_default();
    let aggregate = headers.get("aggregate-id").cloned().unwrap_or_default();
    let deliveries = row.get(3).cloned().unwrap_or_default();
    let leased = row.get(4).and_then(Value::as_i64) == Some(1);
    vec![
        json!(text(0)),
        json!(properties.message_id),
        json!(properties.kind),
        aggregate,
        deliveries,
        json!(leased),
    ]
}
