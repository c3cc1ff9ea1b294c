use std::fs::File;

use sea_orm::sqlx::postgres::{PgConnection, PgPoolOptions};
use sea_orm::sqlx::{self, ConnectOptions};
use sea_orm::{DatabaseConnection, DbBackend, SqlxPostgresConnector};

/// An arbitrary number that all migrators of this project agree on.
const ADVISORY_LOCK: i64 = 0x6f6e_6365_7368_6f70;

/// Held by the one migrator that may work. `Migrator::up` itself takes no lock: of eight pods that
/// started it together on an empty database, seven failed.
#[derive(Debug)]
pub struct MigrationLock {
    _held: Held,
}

#[derive(Debug)]
enum Held {
    File(#[expect(dead_code, reason = "dropping it releases the lock")] File),
    Session(#[expect(dead_code, reason = "dropping it releases the lock")] Box<PgConnection>),
}

/// The lock could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum MigrationLockError {
    /// The lock file beside the SQLite database.
    #[error("migration lock {path}")]
    File {
        /// Where it should be.
        path: String,
        /// What the system reported.
        #[source]
        source: std::io::Error,
    },
    /// The server.
    #[error("migration lock on the server")]
    Server(#[source] sqlx::Error),
}

impl MigrationLock {
    /// Waits for the lock. Dropping it releases it, and so does the end of the process.
    ///
    /// # Errors
    /// The file or the server can't be reached.
    pub async fn acquire(db: &DatabaseConnection) -> Result<Self, MigrationLockError> {
        match db.get_database_backend() {
            DbBackend::Postgres => Self::advisory(db).await,
            _ => Self::file(db).await,
        }
    }

    /// A pool for the migrations themselves: they may take longer than any request may, and
    /// a limit that ends them in the middle helps nobody.
    #[must_use]
    pub fn unlimited(db: &DatabaseConnection) -> DatabaseConnection {
        if db.get_database_backend() != DbBackend::Postgres {
            return db.clone();
        }
        let options = (*db.get_postgres_connection_pool().connect_options()).clone();
        let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(options.options([
            ("statement_timeout", "0"),
            ("lock_timeout", "0"),
            ("idle_in_transaction_session_timeout", "0"),
        ]));
        SqlxPostgresConnector::from_sqlx_postgres_pool(pool)
    }

    async fn advisory(db: &DatabaseConnection) -> Result<Self, MigrationLockError> {
        let options = (*db.get_postgres_connection_pool().connect_options()).clone();
        let lock = async {
            // Its own connection, with no limits: others may migrate for minutes before us.
            let mut connection = options
                .options([("statement_timeout", "0"), ("lock_timeout", "0")])
                .connect()
                .await?;
            sqlx::query("SELECT pg_advisory_lock($1)")
                .bind(ADVISORY_LOCK)
                .execute(&mut connection)
                .await?;
            Ok(Self { _held: Held::Session(Box::new(connection)) })
        };
        lock.await.map_err(MigrationLockError::Server)
    }

    async fn file(db: &DatabaseConnection) -> Result<Self, MigrationLockError> {
        let options = db.get_sqlite_connection_pool().connect_options();
        let mut path = options.get_filename().as_os_str().to_owned();
        path.push(".migrate.lock");
        let shown = path.to_string_lossy().into_owned();
        let locked = tokio::task::spawn_blocking(move || {
            let file = File::create(&path)?;
            file.lock()?;
            Ok(file)
        });
        match locked.await {
            Ok(Ok(file)) => Ok(Self { _held: Held::File(file) }),
            Ok(Err(source)) => Err(MigrationLockError::File { path: shown, source }),
            Err(panic) => {
                Err(MigrationLockError::File { path: shown, source: std::io::Error::other(panic) })
            }
        }
    }
}
