//! No inbox: the effect in a transaction, and no word in it about the message.

use database::begin_write;
use sea_orm::{DatabaseConnection, DatabaseTransaction, DbErr};

/// The transaction for the effect. Each delivery gets one, also the second of the same message.
///
/// # Errors
/// Whatever the database answers.
pub async fn begin(db: &DatabaseConnection) -> Result<DatabaseTransaction, DbErr> {
    begin_write(db).await
}
