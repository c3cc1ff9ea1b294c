//! `SELECT … WHERE status = 'Pending'`: what one relay reads, all others read too.
//!
//! It waits for confirms and marks only what was confirmed. Alone it is right; two of them publish
//! everything twice, with no crash at all.

use std::sync::Arc;
use std::time::Duration;

use crash_points::crash_point;
use database::Dialect;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr, QueryResult};
use tokio_util::sync::CancellationToken;
use transport::{Message, Outcome, Transport};

use crate::direct::Envelope;

/// Between two looks.
const POLL: Duration = Duration::from_millis(25);

/// A relay that makes this mistake.
pub struct Relay {
    /// The outbox.
    pub db: DatabaseConnection,
    /// The broker.
    pub transport: Arc<dyn Transport>,
    /// The program whose outbox it is.
    pub app_id: String,
}

impl Relay {
    /// Runs until `shutdown`.
    pub async fn run(self, shutdown: CancellationToken) {
        while !shutdown.is_cancelled() {
            if let Err(error) = self.pass().await {
                tracing::debug!(%error, "no pass");
            }
            let _ = shutdown.run_until_cancelled(tokio::time::sleep(POLL)).await;
        }
    }

    async fn pass(&self) -> Result<(), DbErr> {
        let (ids, messages) = self.pending().await?;
        if ids.is_empty() {
            return Ok(());
        }
        let Ok(publisher) = self.transport.publisher().await else {
            return Ok(());
        };
        crash_point!("C6");
        let published = publisher.publish(&messages).await;
        crash_point!("C8");
        for (id, outcome) in ids.into_iter().zip(published.outcomes) {
            if outcome == Outcome::Confirmed {
                self.mark(id).await?;
            }
        }
        crash_point!("C10");
        Ok(())
    }

    /// The rows that wait, whoever else may be at work on them.
    async fn pending(&self) -> Result<(Vec<i64>, Vec<Message>), DbErr> {
        let sql = "SELECT id, message_id, type, aggregate_type, aggregate_id, aggregate_version,
                     CAST(payload AS text) AS payload, CAST(headers AS text) AS headers
                   FROM outbox_messages WHERE status = 'Pending' ORDER BY id LIMIT 100";
        let rows = self.db.query_all_raw(Dialect::of(&self.db).statement(sql, [])).await?;
        let (mut ids, mut messages) = (vec![], vec![]);
        for row in &rows {
            ids.push(row.try_get("", "id")?);
            messages.push(self.message(row)?);
        }
        Ok((ids, messages))
    }

    fn message(&self, row: &QueryResult) -> Result<Message, DbErr> {
        let headers: String = row.try_get("", "headers")?;
        let (kind, aggregate_type): (String, String) =
            (row.try_get("", "type")?, row.try_get("", "aggregate_type")?);
        let envelope = Envelope {
            message_id: row.try_get("", "message_id")?,
            kind: &kind,
            aggregate_type: &aggregate_type,
            aggregate_id: row.try_get("", "aggregate_id")?,
            aggregate_version: row.try_get("", "aggregate_version")?,
            app_id: &self.app_id,
            headers: serde_json::from_str(&headers)
                .map_err(|error| DbErr::Json(error.to_string()))?,
            body: row.try_get("", "payload")?,
        };
        Ok(envelope.into_message())
    }

    async fn mark(&self, id: i64) -> Result<(), DbErr> {
        let dialect = Dialect::of(&self.db);
        let sql = format!(
            "UPDATE outbox_messages SET status = 'Sent', sent_at = {} WHERE id = $1",
            dialect.now()
        );
        self.db.execute_raw(dialect.statement(sql, [id.into()])).await.map(|_| ())
    }
}
