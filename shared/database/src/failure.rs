use sea_orm::sqlx;
use sea_orm::{DbErr, RuntimeErr, SqlErr};

/// What a database error means for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The database is away, busy or full. The same call may work later.
    Unavailable,
    /// Another transaction was in the way (deadlock, serialisation, lock time-out). The **whole**
    /// transaction may work when it is run again.
    Contention,
    /// A unique key exists already.
    Duplicate,
    /// The tables are not there (yet): the migrations have not run.
    SchemaMissing,
    /// A mistake in the statement or its data: the same call will fail again.
    Permanent,
}

impl Failure {
    /// Sorts an error into its kind.
    #[must_use]
    pub fn of(error: &DbErr) -> Self {
        if let Some(SqlErr::UniqueConstraintViolation(_)) = error.sql_err() {
            return Self::Duplicate;
        }
        match error {
            DbErr::ConnectionAcquire(_) => Self::Unavailable,
            DbErr::Conn(RuntimeErr::SqlxError(error))
            | DbErr::Exec(RuntimeErr::SqlxError(error))
            | DbErr::Query(RuntimeErr::SqlxError(error)) => Self::of_sqlx(error),
            DbErr::Conn(_) => Self::Unavailable,
            _ => Self::Permanent,
        }
    }

    /// True when the same work may succeed later without anybody changing it.
    #[must_use]
    pub fn is_transient(self) -> bool {
        matches!(self, Self::Unavailable | Self::Contention | Self::SchemaMissing)
    }

    fn of_sqlx(error: &sqlx::Error) -> Self {
        match error {
            sqlx::Error::Database(error) => {
                let code = error.code().unwrap_or_default();
                if error.try_downcast_ref::<sqlx::postgres::PgDatabaseError>().is_some() {
                    Self::of_postgres(&code)
                } else {
                    Self::of_sqlite(&code, error.message())
                }
            }
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed => Self::Unavailable,
            _ => Self::Permanent,
        }
    }

    /// Codes as listed in PostgreSQL's Appendix A.
    fn of_postgres(code: &str) -> Self {
        match code {
            // serialization_failure, deadlock_detected, lock_not_available
            "40001" | "40P01" | "55P03" => Self::Contention,
            // query_canceled (statement_timeout), read_only_sql_transaction (a standby after failover)
            "57014" | "25006" => Self::Unavailable,
            // undefined_table, invalid_schema_name; invalid_catalog_name: the database itself is not there yet
            "42P01" | "3F000" | "3D000" => Self::SchemaMissing,
            // connection exceptions, insufficient resources (disk full, too many connections),
            // operator intervention (shutdown, crash, starting up), system error, wrong password
            _ if ["08", "53", "57", "58", "28"].iter().any(|class| code.starts_with(class)) => {
                Self::Unavailable
            }
            _ => Self::Permanent,
        }
    }

    /// Primary result codes are the low byte of SQLite's extended ones.
    fn of_sqlite(code: &str, message: &str) -> Self {
        if message.starts_with("no such table") {
            return Self::SchemaMissing;
        }
        match code.parse::<i32>().unwrap_or_default() & 0xff {
            // SQLITE_BUSY, SQLITE_LOCKED
            5 | 6 => Self::Contention,
            // SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN
            10 | 13 | 14 => Self::Unavailable,
            _ => Self::Permanent,
        }
    }
}
