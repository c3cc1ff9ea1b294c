//! An outbox of its own, filled as a run needs it.

use database::PoolSettings;
use sea_orm::{ConnectionTrait, DatabaseConnection};
use test_kit::{Backing, Storage};

/// A PostgreSQL database with an outbox.
pub(crate) struct Outbox {
    pub(crate) db: DatabaseConnection,
    pub(crate) url: String,
    pub(crate) storage: Storage,
}

impl Outbox {
    /// With so many rows that were sent long ago.
    pub(crate) async fn new(sent: u64) -> anyhow::Result<Self> {
        let storage = Storage::new(Backing::Servers);
        let url = storage.create_database("bench").await?;
        let outbox = Self { db: pool(&url)?, url, storage };
        outbox::schema::up(&outbox.db).await?;
        // In pieces: the server's limit for one statement holds here too.
        let mut done = 0;
        while done < sent {
            let until = (done + 100_000).min(sent);
            outbox
                .insert("Sent", "now() - interval '1 day'", "'sent-' || n", done + 1, until)
                .await?;
            done = until;
        }
        Ok(outbox)
    }

    /// Adds so many rows that wait, the same number of versions for each aggregate.
    pub(crate) async fn add_pending(&self, rows: u64, aggregates: u64) -> anyhow::Result<()> {
        let base: i64 = self.highest_version().await?;
        let sql = format!(
            "INSERT INTO outbox_messages (message_id, aggregate_type, aggregate_id,
               aggregate_version, type, payload, headers, occurred_on)
             SELECT gen_random_uuid(), 'Order', 'order-' || n % {aggregates},
               {base} + 1 + n / {aggregates}, 'OrderPlaced', '{PAYLOAD}', '{{}}', clock_timestamp()
             FROM generate_series(0, {rows} - 1) n"
        );
        self.db.execute_unprepared(&sql).await?;
        Ok(())
    }

    async fn highest_version(&self) -> anyhow::Result<i64> {
        let sql = "SELECT COALESCE(MAX(aggregate_version), 0) AS version FROM outbox_messages
                   WHERE aggregate_id LIKE 'order-%'";
        let statement = database::Dialect::Postgres.statement(sql, []);
        let row = self.db.query_one_raw(statement).await?;
        Ok(row.map_or(Ok(0), |row| row.try_get("", "version"))?)
    }

    async fn insert(
        &self,
        status: &str,
        sent_at: &str,
        aggregate: &str,
        from: u64,
        to: u64,
    ) -> anyhow::Result<()> {
        let sql = format!(
            "INSERT INTO outbox_messages (message_id, aggregate_type, aggregate_id,
               aggregate_version, type, payload, occurred_on, sent_at, status)
             SELECT gen_random_uuid(), 'Order', {aggregate}, 1, 'OrderPlaced', '{PAYLOAD}',
               {sent_at}, {sent_at}, '{status}'
             FROM generate_series({from}, {to}) n"
        );
        self.db.execute_unprepared(&sql).await?;
        Ok(())
    }

    /// Rows that were sent before [`Outbox::add_pending`] added any.
    pub(crate) async fn sent(&self) -> anyhow::Result<u64> {
        let sql = "SELECT COUNT(*) AS n FROM outbox_messages WHERE aggregate_id LIKE 'sent-%'";
        let db = database::MigrationLock::unlimited(&self.db); // millions of them take their time
        let statement = database::Dialect::Postgres.statement(sql, []);
        let row = db.query_one_raw(statement).await?;
        let rows: i64 = row.map_or(Ok(0), |row| row.try_get("", "n"))?;
        Ok(rows.unsigned_abs())
    }

    /// What PostgreSQL does by itself in quiet times.
    pub(crate) async fn settle(&self) -> anyhow::Result<()> {
        let db = database::MigrationLock::unlimited(&self.db); // without the limit for statements
        db.execute_unprepared("VACUUM ANALYZE outbox_messages").await?;
        db.execute_unprepared("CHECKPOINT").await?;
        Ok(())
    }
}

/// A pool as a process of its own has it.
pub(crate) fn pool(url: &str) -> anyhow::Result<DatabaseConnection> {
    let settings = PoolSettings { application_name: "bench".to_owned(), max_connections: 10 };
    Ok(database::connect(url, &settings)?)
}

/// An order of three lines.
pub(crate) const PAYLOAD: &str = r#"{"orderId":"01a22db1-0558-7493-b11b-be44392e14cd","customerId":"c-42","lines":[{"sku":"KEYBOARD","quantity":2},{"sku":"MOUSE","quantity":1},{"sku":"MONITOR","quantity":1}],"placedAt":"2026-11-30T18:21:45.689364997Z"}"#;
