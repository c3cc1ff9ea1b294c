use sea_orm::{
    DatabaseConnection, DatabaseTransaction, DbErr, SqliteTransactionMode, TransactionOptions,
    TransactionTrait,
};

/// Starts a transaction that will write.
///
/// On SQLite it takes the write lock at once (`BEGIN IMMEDIATE`): a transaction that reads first
/// and writes later is refused as soon as another has written in between, without any waiting.
///
/// Never put this future under a time-out or into a `select!`, and never run it in a task that a
/// client can cancel: dropped in mid-`BEGIN` it leaves a pooled connection inside an open
/// transaction, and somebody else's write on it is lost.
///
/// # Errors
/// No connection, or the database is busy for longer than its time-out.
pub async fn begin_write(db: &DatabaseConnection) -> Result<DatabaseTransaction, DbErr> {
    db.begin_with_options(TransactionOptions {
        sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
        ..TransactionOptions::default()
    })
    .await
}
