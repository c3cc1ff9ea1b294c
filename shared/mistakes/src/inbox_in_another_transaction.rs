//! The inbox row in a transaction of its own, before the effect's: "first note that it came, then do it".

use crash_points::crash_point;
use database::begin_write;
use inbox::Receipt;
use sea_orm::{DatabaseConnection, DatabaseTransaction, DbErr};
use transport::MessageId;

/// The transaction for the effect; `None` for a message whose row is there. When the process dies
/// between the two commits, the row says that it was handled, and it never was.
///
/// # Errors
/// Whatever the database answers.
pub async fn begin(
    db: &DatabaseConnection,
    consumer: &str,
    message_id: MessageId,
    body: &[u8],
) -> Result<Option<DatabaseTransaction>, DbErr> {
    match inbox::begin(db, consumer, message_id, body).await? {
        Receipt::First(inbox_row) => inbox_row.commit().await?,
        Receipt::Duplicate | Receipt::OtherBody => return Ok(None),
    }
    crash_point!("inbox-row-committed");
    begin_write(db).await.map(Some)
}
