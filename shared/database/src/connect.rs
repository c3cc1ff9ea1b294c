use std::str::FromStr;
use std::time::Duration;

use sea_orm::sqlx::postgres::{PgConnectOptions, PgPoolOptions, PgSslMode};
use sea_orm::sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous,
};
use sea_orm::sqlx::{self, ConnectOptions, Connection, Executor};
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DbErr, SqlxPostgresConnector, SqlxSqliteConnector,
};

use crate::hosts;

/// Server-side limits. The server knows how a statement that was cut short ended; a time-out on
/// our side never does. Keep every time-out in the program longer than these.
const STATEMENT_TIMEOUT: &str = "5s";
const LOCK_TIMEOUT: &str = "2s";
const IDLE_IN_TRANSACTION_TIMEOUT: &str = "10s";

/// How long to wait for a free connection. Above the server's limits would hide them; below a
/// second, a restart of the server would fail requests that need not fail.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(3);

/// A peer that vanished without closing costs this much for each dead connection.
pub(crate) const PING_TIMEOUT: Duration = Duration::from_secs(1);

/// SQLite: how long to wait for another process's transaction.
const SQLITE_BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// What differs from pool to pool.
#[derive(Debug, Clone)]
pub struct PoolSettings {
    /// The name that the server shows for these connections.
    pub application_name: String,
    /// PostgreSQL: connections at most. SQLite always gets one: it has one writer at a time, and
    /// waiting in our queue is fair, waiting in SQLite's busy handler is not.
    pub max_connections: u32,
}

/// The database URL can't be used.
#[derive(Debug, thiserror::Error)]
pub enum InvalidDatabaseUrl {
    /// Neither `sqlite://` nor `postgres://`.
    #[error("database URL: expected sqlite://… or postgres://…")]
    Scheme,
    /// It asks for TLS, and this build has none: nothing would ever connect.
    #[error("database URL: sslmode asks for TLS, which this build does not have")]
    Tls,
    /// The list of hosts in it.
    #[error("database URL: {0}")]
    Hosts(&'static str),
    /// The rest of the URL.
    #[error("database URL: {0}")]
    Parse(#[source] sqlx::Error),
}

/// Makes a pool. Connects to nothing yet, so that an absent server is no error here.
///
/// A URL of PostgreSQL may list several hosts: `postgres://user@pg1:5432,pg2/database`. The pool then
/// uses whichever accepts writes, and follows a failover. It lives until it is closed, for a watch
/// over the hosts holds it.
///
/// # Errors
/// The URL can't be used.
pub fn connect(
    url: &str,
    settings: &PoolSettings,
) -> Result<DatabaseConnection, InvalidDatabaseUrl> {
    match url.split_once(':').map(|(scheme, _)| scheme) {
        Some("sqlite") => sqlite(url),
        Some("postgres" | "postgresql") => postgres(url, settings),
        _ => Err(InvalidDatabaseUrl::Scheme),
    }
}

fn sqlite(url: &str) -> Result<DatabaseConnection, InvalidDatabaseUrl> {
    let options = SqliteConnectOptions::from_str(url)
        .map_err(InvalidDatabaseUrl::Parse)?
        .create_if_missing(true)
        .foreign_keys(true)
        .busy_timeout(SQLITE_BUSY_TIMEOUT)
        .journal_mode(SqliteJournalMode::Wal)
        // NORMAL would lose the last commits in a power failure: a 201 promises more.
        .synchronous(SqliteSynchronous::Full)
        .disable_statement_logging();
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        // Long: in a single-connection pool the queue is the concurrency control.
        .acquire_timeout(SQLITE_BUSY_TIMEOUT * 2)
        .idle_timeout(None)
        .max_lifetime(None)
        .after_release(|connection, _| {
            Box::pin(async move {
                // See the same line in `postgres`. SQLite says an error when no transaction is open.
                let _ = connection.execute("ROLLBACK").await;
                Ok(true)
            })
        })
        .connect_lazy_with(options);
    Ok(SqlxSqliteConnector::from_sqlx_sqlite_pool(pool))
}

fn postgres(url: &str, settings: &PoolSettings) -> Result<DatabaseConnection, InvalidDatabaseUrl> {
    let urls = hosts::each_alone(url)?;
    let hosts = urls.iter().map(|url| postgres_host(url, settings));
    let hosts = hosts.collect::<Result<Vec<_>, _>>()?;
    let several = hosts.len() > 1;
    let Some(first) = hosts.first() else { return Err(InvalidDatabaseUrl::Scheme) };
    let pool = PgPoolOptions::new()
        .max_connections(settings.max_connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .test_before_acquire(false)
        .after_connect(move |connection, _| {
            Box::pin(async move {
                if several && !hosts::accepts_writes(connection).await? {
                    // sqlx tries again, by then perhaps on another host.
                    return Err(sqlx::Error::Configuration("the server is a standby".into()));
                }
                Ok(())
            })
        })
        .before_acquire(move |connection, _| {
            Box::pin(async move {
                // In place of sqlx's own ping, which waits for ever on a black hole.
                let sign_of_life = async {
                    match several {
                        // As cheap: one round trip. A server that was demoted answers pings, too.
                        true => hosts::accepts_writes(connection).await,
                        false => connection.ping().await.map(|()| true),
                    }
                };
                tokio::time::timeout(PING_TIMEOUT, sign_of_life).await.unwrap_or(Ok(false))
            })
        })
        .after_release(|connection, _| {
            Box::pin(async move {
                // A `begin()` that was dropped in flight leaves its transaction open: without this
                // line the next user's write would succeed and then vanish. With nothing to roll
                // back, a `ROLLBACK` alone is a warning in the server's log, each time.
                connection.execute("BEGIN; ROLLBACK").await.map(|_| true)
            })
        })
        .connect_lazy_with(first.clone());
    if several {
        hosts::follow(&pool, hosts);
    }
    Ok(SqlxPostgresConnector::from_sqlx_postgres_pool(pool))
}

fn postgres_host(
    url: &str,
    settings: &PoolSettings,
) -> Result<PgConnectOptions, InvalidDatabaseUrl> {
    let options = PgConnectOptions::from_str(url)
        .map_err(InvalidDatabaseUrl::Parse)?
        .application_name(&settings.application_name)
        .options([
            ("statement_timeout", STATEMENT_TIMEOUT),
            ("lock_timeout", LOCK_TIMEOUT),
            ("idle_in_transaction_session_timeout", IDLE_IN_TRANSACTION_TIMEOUT),
        ])
        .disable_statement_logging();
    if matches!(
        options.get_ssl_mode(),
        PgSslMode::Require | PgSslMode::VerifyCa | PgSslMode::VerifyFull
    ) && !cfg!(feature = "tls")
    {
        return Err(InvalidDatabaseUrl::Tls);
    }
    Ok(options)
}

/// Asks the database for a sign of life.
///
/// # Errors
/// It gave none.
pub async fn ping(db: &DatabaseConnection) -> Result<(), DbErr> {
    db.execute_unprepared("SELECT 1").await.map(|_| ())
}
