//! The queries that count. An outbox may hold millions of sent rows, and somebody may ask every few
//! seconds: each figure comes from a partial index without sent rows in it, and the sent rows are
//! counted up to [`EXACT`] only.

use database::Dialect;
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr, QueryResult, TransactionTrait,
};

use super::{Backlog, Stats, look};

/// PostgreSQL: up to here sent rows are counted; beyond, its statistics tell how many there are.
const EXACT: i64 = 100_000;

/// The outbox in figures.
///
/// # Errors
/// Whatever the database answers.
pub async fn stats(db: &DatabaseConnection) -> Result<Stats, DbErr> {
    let tx = db.begin().await?;
    let dialect = Dialect::of(&tx);
    let mut stats = Stats { sent: counted(&tx, dialect).await?, ..Stats::default() };
    look::by_index(&tx).await?;
    waiting(&tx, dialect, &mut stats).await?;
    blocked(&tx, dialect, &mut stats).await?;
    stats.dead = count(&tx, "outbox_messages WHERE status = 'Dead'").await?;
    stats.discarded = count(&tx, "outbox_messages WHERE status = 'Discarded'").await?;
    if dialect == Dialect::Postgres && stats.sent > EXACT {
        let others = stats.pending + stats.dead + stats.discarded;
        stats.sent = stats.sent.max(estimated_rows(&tx).await? - others);
        stats.sent_is_estimate = true;
    }
    tx.commit().await?;
    Ok(stats)
}

/// What waits and what is stuck, cheap enough to be asked every second: two counts within partial
/// indexes, and the age of the first row of one. The first by id may not be the oldest by its time, which
/// nothing but a look at each row would tell.
///
/// # Errors
/// Whatever the database answers.
pub async fn backlog(db: &DatabaseConnection) -> Result<Backlog, DbErr> {
    let tx = db.begin().await?;
    look::by_index(&tx).await?;
    let dialect = Dialect::of(&tx);
    let sql = format!(
        "SELECT (SELECT COUNT(*) FROM outbox_messages WHERE status = 'Pending') AS pending,
           (SELECT COUNT(*) FROM outbox_messages WHERE status = 'Dead') AS dead,
           (SELECT {age} FROM outbox_messages WHERE status = 'Pending' ORDER BY id LIMIT 1) AS age",
        age = dialect.age_millis(&format!("({})", dialect.readable("occurred_on"))),
    );
    let row = one(&tx, &sql).await?;
    tx.commit().await?;
    Ok(Backlog {
        pending: row.try_get("", "pending")?,
        dead: row.try_get("", "dead")?,
        oldest_pending_age_ms: row.try_get("", "age")?,
    })
}

/// Sent rows; on PostgreSQL one more than [`EXACT`] at most.
async fn counted(tx: &DatabaseTransaction, dialect: Dialect) -> Result<i64, DbErr> {
    let limit = match dialect {
        Dialect::Sqlite => String::new(),
        Dialect::Postgres => format!("LIMIT {}", EXACT + 1),
    };
    count(tx, &format!("(SELECT 1 FROM outbox_messages WHERE status = 'Sent' {limit}) sent")).await
}

/// As the planner does: the rows on a page when it last looked, times the pages that there are now.
async fn estimated_rows(tx: &DatabaseTransaction) -> Result<i64, DbErr> {
    let sql = "SELECT CAST(CASE WHEN relpages > 0 AND reltuples > 0
                 THEN reltuples / relpages * (pg_relation_size(oid)
                   / CAST(current_setting('block_size') AS bigint))
                 ELSE 0 END AS bigint) AS n
               FROM pg_class WHERE oid = CAST('outbox_messages' AS regclass)";
    one(tx, sql).await?.try_get("", "n")
}

async fn waiting(
    tx: &DatabaseTransaction,
    dialect: Dialect,
    stats: &mut Stats,
) -> Result<(), DbErr> {
    let sql = format!(
        "SELECT COUNT(*) AS pending, {age} AS age,
           COUNT(CASE WHEN claimed_until > {now} THEN 1 END) AS claimed,
           COUNT(CASE WHEN retry_count > 0 THEN 1 END) AS failing
         FROM outbox_messages WHERE status = 'Pending'",
        age = dialect.age_millis(&format!("MIN({})", dialect.readable("occurred_on"))),
        now = dialect.now(),
    );
    let row = one(tx, &sql).await?;
    stats.pending = row.try_get("", "pending")?;
    stats.oldest_pending_age_ms = row.try_get("", "age")?;
    stats.claimed = row.try_get("", "claimed")?;
    stats.failing = row.try_get("", "failing")?;
    Ok(())
}

/// From each dead aggregate to its followers. The other way round, from each pending row to the dead
/// ones, it may read all dead rows for each pending one. `id > 0` is what `outbox_messages_blocking` says.
async fn blocked(
    tx: &DatabaseTransaction,
    dialect: Dialect,
    stats: &mut Stats,
) -> Result<(), DbErr> {
    let sql = format!(
        "SELECT COUNT(CASE WHEN n > 0 THEN 1 END) AS aggregates,
           CAST(COALESCE(SUM(n), 0) AS bigint) AS messages
         FROM (SELECT (
             SELECT COUNT(*) FROM outbox_messages m
             WHERE m.status IN ('Pending', 'Dead') AND m.id > 0 AND m.status <> 'Dead'
               AND m.aggregate_type = dead.aggregate_type AND m.aggregate_id = dead.aggregate_id
               AND m.aggregate_version > dead.first) AS n
           FROM (SELECT aggregate_type, aggregate_id, MIN(aggregate_version) AS first
             FROM outbox_messages WHERE status = 'Dead'
             GROUP BY aggregate_type, aggregate_id {fence}) dead) blocked",
        // Or SQLite merges the levels and counts the followers once for each use of `n`.
        fence = match dialect {
            Dialect::Sqlite => "LIMIT -1",
            Dialect::Postgres => "",
        },
    );
    let row = one(tx, &sql).await?;
    stats.blocked_messages = row.try_get("", "messages")?;
    stats.blocked_aggregates = row.try_get("", "aggregates")?;
    Ok(())
}

async fn count(tx: &DatabaseTransaction, what: &str) -> Result<i64, DbErr> {
    one(tx, &format!("SELECT COUNT(*) AS n FROM {what}")).await?.try_get("", "n")
}

async fn one(tx: &DatabaseTransaction, sql: &str) -> Result<QueryResult, DbErr> {
    let row = tx.query_one_raw(Dialect::of(tx).statement(sql, [])).await?;
    row.ok_or_else(|| DbErr::RecordNotFound("a figure".to_owned()))
}
