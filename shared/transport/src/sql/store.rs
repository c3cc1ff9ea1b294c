//! Every query of the SQL transport.

use std::collections::HashSet;
use std::time::Duration;

use database::{Dialect, begin_write};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr, QueryResult, Value};

use crate::{Message, Outcome, QueueDepth, Topology, topic_matches};

/// Rows in one INSERT: six parameters each, and SQLite takes 32,766.
const INSERT_CHUNK: usize = 500;

/// A message together with its row.
pub(super) struct Leased {
    pub(super) id: i64,
    pub(super) deliveries: i64,
    pub(super) delivery_limit: i64,
    pub(super) message: Message,
}

/// Writes down the queues and their bindings. What is there already stays.
pub(super) async fn declare(db: &DatabaseConnection, topology: &Topology) -> Result<(), DbErr> {
    let dialect = Dialect::of(db);
    let tx = begin_write(db).await?;
    for queue in &topology.queues {
        tx.execute_raw(dialect.statement(
            "INSERT INTO broker_queues (name, delivery_limit) VALUES ($1, $2), ($3, 0)
             ON CONFLICT DO NOTHING",
            [
                queue.name.clone().into(),
                i64::from(queue.delivery_limit).into(),
                queue.dead_letter_queue().into(),
            ],
        ))
        .await?;
        for pattern in &queue.bindings {
            tx.execute_raw(dialect.statement(
                "INSERT INTO broker_bindings (exchange, pattern, queue) VALUES ($1, $2, $3)
                 ON CONFLICT DO NOTHING",
                [
                    topology.exchange.clone().into(),
                    pattern.clone().into(),
                    queue.name.clone().into(),
                ],
            ))
            .await?;
        }
    }
    tx.commit().await
}

/// Stores a copy of each message in every queue that is bound for it, all in one transaction.
/// The outcomes hold once this has returned `Ok`: its last act is the commit.
pub(super) async fn publish(
    db: &DatabaseConnection,
    exchange: &str,
    messages: &[Message],
    outcomes: &mut [Outcome],
) -> Result<(), DbErr> {
    let dialect = Dialect::of(db);
    let tx = begin_write(db).await?;
    let bindings = bindings(&tx, exchange).await?;
    let mut rows = Vec::new();
    for (message, outcome) in messages.iter().zip(outcomes.iter_mut()) {
        if matches!(outcome, Outcome::Refused(_)) {
            continue;
        }
        let mut queues: Vec<_> = bindings
            .iter()
            .filter(|(pattern, _)| topic_matches(pattern, &message.routing_key))
            .map(|(_, queue)| queue)
            .collect();
        queues.sort_unstable();
        queues.dedup();
        *outcome = match queues.is_empty() {
            true => Outcome::Unroutable(format!("no queue is bound for {}", message.routing_key)),
            false => Outcome::Confirmed,
        };
        rows.extend(queues.into_iter().map(|queue| (queue, message)));
    }
    for chunk in rows.chunks(INSERT_CHUNK) {
        insert(&tx, dialect, chunk).await?;
    }
    tx.commit().await
}

async fn bindings<C: ConnectionTrait>(
    tx: &C,
    exchange: &str,
) -> Result<Vec<(String, String)>, DbErr> {
    let sql = "SELECT pattern, queue FROM broker_bindings WHERE exchange = $1";
    let statement = Dialect::of(tx).statement(sql, [exchange.into()]);
    let rows = tx.query_all_raw(statement).await?;
    rows.iter().map(|row| Ok((row.try_get("", "pattern")?, row.try_get("", "queue")?))).collect()
}

async fn insert<C: ConnectionTrait>(
    tx: &C,
    dialect: Dialect,
    rows: &[(&String, &Message)],
) -> Result<(), DbErr> {
    let now = dialect.now();
    let mut tuples = Vec::with_capacity(rows.len());
    let mut values: Vec<Value> = Vec::with_capacity(rows.len() * 5);
    for (queue, message) in rows {
        let n = values.len();
        tuples.push(format!("(${}, ${}, ${}, ${}, ${}, {now})", n + 1, n + 2, n + 3, n + 4, n + 5));
        values.push(queue.as_str().into());
        values.push(message.routing_key.as_str().into());
        values.push(to_json(&message.properties)?.into());
        values.push(to_json(&message.headers)?.into());
        values.push(message.body.clone().into());
    }
    let sql = format!(
        "INSERT INTO broker_messages (queue, routing_key, properties, headers, body, published_at)
         VALUES {}",
        tuples.join(", ")
    );
    tx.execute_raw(dialect.statement(sql, values)).await?;
    Ok(())
}

/// Leases the oldest messages of `queue` that nobody holds, in order.
pub(super) async fn lease(
    db: &DatabaseConnection,
    queue: &str,
    token: &str,
    visibility: Duration,
    limit: usize,
) -> Result<Vec<Leased>, DbErr> {
    let dialect = Dialect::of(db);
    let sql = format!(
        "UPDATE broker_messages
         SET lease_token = $1, leased_until = {until}, deliveries = deliveries + 1
         WHERE id IN (
           SELECT id FROM broker_messages
           WHERE queue = $3 AND (leased_until IS NULL OR leased_until < {now})
           ORDER BY id LIMIT $4 {skip_locked})
         RETURNING id, routing_key, properties, headers, body, deliveries, death_reason,
           (SELECT delivery_limit FROM broker_queues WHERE name = queue) AS delivery_limit",
        until = dialect.now_plus_millis("$2"),
        now = dialect.now(),
        skip_locked = dialect.skip_locked("broker_messages"),
    );
    let values = [
        token.into(),
        millis(visibility).into(),
        queue.into(),
        i64::try_from(limit).unwrap_or(i64::MAX).into(),
    ];
    let rows = db.query_all_raw(dialect.statement(sql, values)).await?;
    let mut leased = rows.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    // RETURNING is not ordered, whatever the sub-select says.
    leased.sort_unstable_by_key(|row| row.id);
    Ok(leased)
}

/// Extends all leases of a session.
pub(super) async fn renew(
    db: &DatabaseConnection,
    queue: &str,
    token: &str,
    visibility: Duration,
) -> Result<(), DbErr> {
    let dialect = Dialect::of(db);
    let sql = format!(
        "UPDATE broker_messages SET leased_until = {} WHERE queue = $2 AND lease_token = $3",
        dialect.now_plus_millis("$1")
    );
    let values = [millis(visibility).into(), queue.into(), token.into()];
    db.execute_raw(dialect.statement(sql, values)).await?;
    Ok(())
}

/// Gives back everything that a session holds.
pub(super) async fn release_all(
    db: &DatabaseConnection,
    queue: &str,
    token: &str,
) -> Result<(), DbErr> {
    let sql = "UPDATE broker_messages SET lease_token = NULL, leased_until = NULL
               WHERE queue = $1 AND lease_token = $2";
    let statement = Dialect::of(db).statement(sql, [queue.into(), token.into()]);
    db.execute_raw(statement).await?;
    Ok(())
}

/// Forgets messages. Returns those that the session still held.
pub(super) async fn ack(
    db: &DatabaseConnection,
    ids: &[i64],
    token: &str,
) -> Result<HashSet<i64>, DbErr> {
    let dialect = Dialect::of(db);
    let sql = format!(
        "DELETE FROM broker_messages WHERE id {} AND lease_token = $2 RETURNING id",
        dialect.among("$1")
    );
    let values = [dialect.ids(ids.iter().copied()), token.into()];
    let rows = db.query_all_raw(dialect.statement(sql, values)).await?;
    rows.iter().map(|row| row.try_get("", "id")).collect()
}

/// Gives a message back, to its old place in the queue.
pub(super) async fn requeue(db: &DatabaseConnection, id: i64, token: &str) -> Result<bool, DbErr> {
    let sql = "UPDATE broker_messages SET lease_token = NULL, leased_until = NULL
               WHERE id = $1 AND lease_token = $2";
    changed(db, sql, [id.into(), token.into()]).await
}

/// Moves a message to the dead-letter queue.
pub(super) async fn dead_letter(
    db: &DatabaseConnection,
    id: i64,
    token: &str,
    reason: &str,
) -> Result<bool, DbErr> {
    let sql = "UPDATE broker_messages
               SET queue = queue || '.dead', death_reason = $3, deliveries = 0,
                   lease_token = NULL, leased_until = NULL
               WHERE id = $1 AND lease_token = $2";
    changed(db, sql, [id.into(), token.into(), reason.into()]).await
}

/// How many messages wait in each queue, and how many are in a session's hands.
pub(super) async fn depths(db: &DatabaseConnection) -> Result<Vec<QueueDepth>, DbErr> {
    let dialect = Dialect::of(db);
    let sql = format!(
        "SELECT q.name AS name, COUNT(m.id) AS total,
           COUNT(CASE WHEN m.leased_until >= {now} THEN 1 END) AS leased
         FROM broker_queues q LEFT JOIN broker_messages m ON m.queue = q.name
         GROUP BY q.name ORDER BY q.name",
        now = dialect.now(),
    );
    let rows = db.query_all_raw(dialect.statement(sql, [])).await?;
    rows.iter()
        .map(|row| {
            let number = |column| row.try_get::<i64>("", column).map(i64::unsigned_abs);
            let (total, leased) = (number("total")?, number("leased")?);
            Ok(QueueDepth {
                queue: row.try_get("", "name")?,
                ready: total - leased,
                unacked: Some(leased),
                consumers: None,
            })
        })
        .collect()
}

async fn changed<const N: usize>(
    db: &DatabaseConnection,
    sql: &str,
    values: [Value; N],
) -> Result<bool, DbErr> {
    let result = db.execute_raw(Dialect::of(db).statement(sql, values)).await?;
    Ok(result.rows_affected() > 0)
}

fn read(row: &QueryResult) -> Result<Leased, DbErr> {
    let (properties, headers) = (from_json(row, "properties"), from_json(row, "headers"));
    // A row that somebody else wrote may hold anything. As an error it would end every session that
    // takes it; so it is delivered as it is, without what can't be read, and is its receiver's to park.
    let mut message = Message {
        routing_key: row.try_get("", "routing_key")?,
        properties: properties.unwrap_or_default(),
        headers: headers.unwrap_or_default(),
        body: row.try_get("", "body")?,
    };
    if let Some(reason) = row.try_get::<Option<String>>("", "death_reason")? {
        // The name that RabbitMQ gives it.
        message.headers.insert("x-first-death-reason".to_owned(), reason.into());
    }
    Ok(Leased {
        id: row.try_get("", "id")?,
        deliveries: row.try_get("", "deliveries")?,
        delivery_limit: row.try_get::<Option<i64>>("", "delivery_limit")?.unwrap_or(0),
        message,
    })
}

fn to_json<T: serde::Serialize>(value: &T) -> Result<String, DbErr> {
    serde_json::to_string(value).map_err(|error| DbErr::Json(error.to_string()))
}

fn from_json<T: serde::de::DeserializeOwned>(row: &QueryResult, column: &str) -> Result<T, DbErr> {
    let text: String = row.try_get("", column)?;
    serde_json::from_str(&text).map_err(|error| DbErr::Json(error.to_string()))
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
