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
pub struct InboxTransaction(DatabaseTransaction);

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
    let dialect = Dialect::of(db);
    let payload_hash = sha256_hex(body);
    let tx = begin_write(db).await?;

    // A second delivery that runs at the same moment waits here for the first one's commit.
    let insert = format!(
        "INSERT INTO inbox_messages (consumer, message_id, payload_hash, processed_at)
         VALUES ($1, $2, $3, {}) ON CONFLICT DO NOTHING",
        dialect.now()
    );
    let values = [consumer.into(), message_id.into(), payload_hash.as_str().into()];
    let inserted = tx.execute_raw(dialect.statement(insert, values)).await?;
    if inserted.rows_affected() == 1 {
        return Ok(Receipt::First(InboxTransaction(tx)));
    }

    let known_hash = known_hash(&tx, consumer, message_id).await?;
    tx.rollback().await?;
    match known_hash == payload_hash {
        true => Ok(Receipt::Duplicate),
        false => Ok(Receipt::OtherBody),
    }
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
