use std::collections::HashSet;
use std::ops::Deref;

use database::{Dialect, begin_write};
use sea_orm::{ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr};
use sha2::{Digest, Sha256};
use transport::MessageId;

/// What the inbox knows about a message.
#[derive(Debug)]
pub enum Receipt {
    /// It is here for the first time. Write its effect into this transaction.
    First(InboxTransaction),
    /// Its effect is committed. Acknowledge it and do nothing.
    Duplicate,
    /// Its id was used for another body: one of the two is a mistake.
    OtherBody,
}

/// An open transaction that already holds the message's inbox row. Use it like the
/// [`DatabaseTransaction`] it contains. Dropped uncommitted, it leaves no trace of the message,
/// which will then come again.
#[derive(Debug)]
pub struct InboxTransaction(pub(crate) DatabaseTransaction);

impl InboxTransaction {
    /// Makes inbox row, effect and reply durable, all of them or none.
    ///
    /// # Errors
    /// The outcome is unknown. Receive the message again: the inbox row, there or not, tells.
    pub async fn commit(self) -> Result<(), DbErr> {
        if Dialect::of(&self.0) == Dialect::Postgres {
            // A handler may have swallowed the error of a statement. PostgreSQL has rolled back
            // then, and its COMMIT reports success: the message would be acked without its effect.
            // Any further statement tells.
            self.0.execute_unprepared("SELECT 1").await?;
        }
        self.0.commit().await
    }
}

impl Deref for InboxTransaction {
    type Target = DatabaseTransaction;

    fn deref(&self) -> &DatabaseTransaction {
        &self.0
    }
}

/// Starts the transaction in which `consumer` receives a message, and writes its inbox row.
///
/// There is no other way to get an [`InboxTransaction`], and so no way to commit an effect through
/// it without the row that keeps it from happening again.
///
/// # Errors
/// Whatever the database answers.
pub async fn begin(
    db: &DatabaseConnection,
    consumer: &str,
    message_id: MessageId,
    body: &[u8],
) -> Result<Receipt, DbErr> {
    let payload_hash = sha256_hex(body);
    let tx = begin_write(db).await?;

    let message = [(message_id, payload_hash.as_str())];
    match insert(&tx, consumer, &message).await?.as_slice() {
        [Arrival::First] => Ok(Receipt::First(InboxTransaction(tx))),
        [Arrival::OtherBody] => tx.rollback().await.map(|()| Receipt::OtherBody),
        _ => tx.rollback().await.map(|()| Receipt::Duplicate),
    }
}

/// The same for one message among several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    First,
    Duplicate,
    OtherBody,
}

/// Writes the inbox rows of messages (id and hash of the body, no id twice) with one statement, and
/// says for each of them whether it was here before.
pub(crate) async fn insert(
    tx: &DatabaseTransaction,
    consumer: &str,
    messages: &[(MessageId, &str)],
) -> Result<Vec<Arrival>, DbErr> {
    if messages.is_empty() {
        return Ok(vec![]);
    }
    let dialect = Dialect::of(tx);
    // In one order everywhere: two consumers that hold copies of each other's messages wait for
    // each other, and neither for a circle.
    let mut sorted = messages.to_vec();
    sorted.sort_unstable_by_key(|(id, _)| *id);
    let rows: Vec<_> = (1..=sorted.len())
        .map(|n| format!("($1, ${}, ${}, {})", 2 * n, 2 * n + 1, dialect.now()))
        .collect();
    // A second delivery that runs at the same moment waits here for the first one's commit.
    let sql = format!(
        "INSERT INTO inbox_messages (consumer, message_id, payload_hash, processed_at)
         VALUES {} ON CONFLICT DO NOTHING RETURNING message_id",
        rows.join(", ")
    );
    let pairs = sorted.iter().flat_map(|(id, hash)| [(*id).into(), (*hash).into()]);
    let values = std::iter::once(consumer.into()).chain(pairs);
    let mut first = HashSet::new();
    for row in tx.query_all_raw(dialect.statement(sql, values)).await? {
        first.insert(row.try_get::<String>("", "message_id")?);
    }
    let mut arrivals = Vec::with_capacity(messages.len());
    for (id, hash) in messages {
        arrivals.push(match first.contains(&id.to_string()) {
            true => Arrival::First,
            false if known_hash(tx, consumer, *id).await? == *hash => Arrival::Duplicate,
            false => Arrival::OtherBody,
        });
    }
    Ok(arrivals)
}

async fn known_hash(
    tx: &DatabaseTransaction,
    consumer: &str,
    message_id: MessageId,
) -> Result<String, DbErr> {
    let sql = "SELECT payload_hash FROM inbox_messages WHERE consumer = $1 AND message_id = $2";
    let statement = Dialect::of(tx).statement(sql, [consumer.into(), message_id.into()]);
    match tx.query_one_raw(statement).await? {
        Some(row) => row.try_get("", "payload_hash"),
        None => Err(DbErr::RecordNotFound(format!("inbox row of {message_id}"))),
    }
}

/// As `sha256sum` prints it.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
