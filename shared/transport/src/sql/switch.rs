//! A SQL broker that is stopped, for learning and for tests. The safe path knows nothing of it.
//!
//! Being stopped is written down in the database itself, as triggers: it holds for every process,
//! and for a database that is opened again later.

use database::{Dialect, begin_write};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr};

use super::{failed, schema};
use crate::TransportError;

/// The tables whose rows no session can do without: opening one writes to the first, publishing,
/// leasing and acknowledging to the second.
const TABLES: [&str; 2] = ["broker_queues", "broker_messages"];

const CHANGES: [&str; 3] = ["INSERT", "UPDATE", "DELETE"];

/// From now on no session can be opened, and every publish, lease and acknowledgement fails with
/// "the broker is stopped". What waits in the queues stays. Does nothing where it is stopped already.
///
/// # Errors
/// The database failed.
pub async fn stop(db: &DatabaseConnection) -> Result<(), TransportError> {
    schema::create_if_missing(db).await.map_err(|error| TransportError::SessionLost {
        reason: format!("the queue's tables can't be made: {error}"),
    })?;
    set_triggers(db).await.map_err(failed("stopping the broker"))
}

/// Ends [`stop`]. Does nothing where it is not stopped.
///
/// # Errors
/// The database failed.
pub async fn start(db: &DatabaseConnection) -> Result<(), TransportError> {
    if is_stopped(db).await? {
        drop_triggers(db).await.map_err(failed("starting the broker"))?;
    }
    Ok(())
}

/// Whether it is stopped.
///
/// # Errors
/// The database failed.
pub async fn is_stopped(db: &DatabaseConnection) -> Result<bool, TransportError> {
    let (dialect, name) = (Dialect::of(db), name(TABLES[1], CHANGES[0]));
    let sql = match dialect {
        Dialect::Sqlite => "SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND name = $1",
        Dialect::Postgres => {
            "SELECT 1 FROM pg_trigger WHERE tgname = $1 AND tgrelid = to_regclass('broker_messages')"
        }
    };
    let found = db.query_one_raw(dialect.statement(sql, [name.into()])).await;
    Ok(found.map_err(failed("looking whether the broker is stopped"))?.is_some())
}

async fn set_triggers(db: &DatabaseConnection) -> Result<(), DbErr> {
    let tx = begin_write(db).await?;
    if Dialect::of(&tx) == Dialect::Postgres {
        // cannot_connect_now: an outage, and no mistake in a statement.
        tx.execute_unprepared(
            "CREATE OR REPLACE FUNCTION broker_is_stopped() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE EXCEPTION 'the broker is stopped' USING ERRCODE = '57P03'; END $$",
        )
        .await?;
    }
    for (table, change) in changes() {
        tx.execute_unprepared(&drop_trigger(Dialect::of(&tx), table, change)).await?;
        tx.execute_unprepared(&create_trigger(Dialect::of(&tx), table, change)).await?;
    }
    tx.commit().await
}

async fn drop_triggers(db: &DatabaseConnection) -> Result<(), DbErr> {
    let tx = begin_write(db).await?;
    for (table, change) in changes() {
        tx.execute_unprepared(&drop_trigger(Dialect::of(&tx), table, change)).await?;
    }
    tx.commit().await
}

fn create_trigger(dialect: Dialect, table: &str, change: &str) -> String {
    let name = name(table, change);
    match dialect {
        Dialect::Sqlite => format!(
            "CREATE TRIGGER {name} BEFORE {change} ON {table}
             BEGIN SELECT RAISE(ABORT, 'the broker is stopped'); END"
        ),
        Dialect::Postgres => format!(
            "CREATE TRIGGER {name} BEFORE {change} ON {table}
             FOR EACH STATEMENT EXECUTE FUNCTION broker_is_stopped()"
        ),
    }
}

fn drop_trigger(dialect: Dialect, table: &str, change: &str) -> String {
    let name = name(table, change);
    match dialect {
        Dialect::Sqlite => format!("DROP TRIGGER IF EXISTS {name}"),
        Dialect::Postgres => format!("DROP TRIGGER IF EXISTS {name} ON {table}"),
    }
}

fn name(table: &str, change: &str) -> String {
    format!("{table}_stopped_{}", change.to_lowercase())
}

fn changes() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLES.into_iter().flat_map(|table| CHANGES.into_iter().map(move |change| (table, change)))
}
