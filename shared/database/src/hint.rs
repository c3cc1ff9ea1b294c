//! "Look now": from the one who has committed work to the one who waits for it.
//!
//! A hint may be lost, doubled or late; nothing depends on it but speed. The one who waits polls
//! as well. So hints need no transaction, no acknowledgement and no error handling.
//!
//! | from | how |
//! | --- | --- |
//! | the same process | [`Hint::give`] |
//! | another process, PostgreSQL | `NOTIFY` outside the writer's transaction: inside, it takes a lock that serialises all commits |
//! | another process, SQLite | `PRAGMA data_version` changes when anybody else commits to the file |

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use sea_orm::sqlx::postgres::{PgConnection, PgListener, PgPoolOptions};
use sea_orm::sqlx::{ConnectOptions, Executor, Row};
use sea_orm::{DatabaseConnection, DbBackend, sqlx};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// How often the SQLite watcher looks. One look costs some microseconds.
const SQLITE_WATCH_INTERVAL: Duration = Duration::from_millis(5);

/// After so long without a hint the listener asks whether its connection still works.
const QUIET: Duration = Duration::from_secs(10);

/// A hint that takes longer has no worth any more.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(1);

/// The least time between two `NOTIFY`: under load one hint serves many commits.
const NOTIFY_GAP: Duration = Duration::from_millis(2);

/// A flag that one side raises and the other waits for. Raised while nobody waits, it is kept:
/// the next [`Hint::given`] returns at once.
#[derive(Debug, Clone, Default)]
pub struct Hint(Arc<Notify>);

impl Hint {
    /// Raises the flag.
    pub fn give(&self) {
        self.0.notify_one();
    }

    /// Waits for the flag and lowers it. Cancel-safe.
    pub async fn given(&self) {
        self.0.notified().await;
    }
}

/// Tells other processes that something was committed. Cheap to clone and to call.
#[derive(Debug, Clone)]
pub struct HintSender(Hint);

impl HintSender {
    /// Starts the sender for `channel` (an SQL identifier). It ends with `shutdown`.
    #[must_use]
    pub fn start(
        db: &DatabaseConnection,
        channel: &'static str,
        shutdown: CancellationToken,
    ) -> Self {
        let hint = Hint::default();
        // SQLite needs no sender: the watcher sees the commit itself.
        if db.get_database_backend() == DbBackend::Postgres {
            let (db, hint) = (db.clone(), hint.clone());
            tokio::spawn(shutdown.run_until_cancelled_owned(async move {
                let mut connection = None;
                loop {
                    hint.given().await;
                    for _ in 0..2 {
                        let sent = notify(&db, channel, &mut connection);
                        match tokio::time::timeout(NOTIFY_TIMEOUT, sent).await {
                            Ok(Ok(())) => break,
                            _ => connection = None, // once more, on a new one
                        }
                    }
                    tokio::time::sleep(NOTIFY_GAP).await;
                }
            }));
        }
        Self(hint)
    }

    /// Call it after the commit.
    pub fn send(&self) {
        self.0.give();
    }
}

/// On a connection of its own: the pool's are asked for a sign of life before each use, which would
/// double the time that a hint takes.
async fn notify(
    db: &DatabaseConnection,
    channel: &str,
    connection: &mut Option<PgConnection>,
) -> Result<(), sqlx::Error> {
    let open = match connection {
        Some(open) => open,
        None => {
            let options = db.get_postgres_connection_pool().connect_options();
            connection.insert(options.connect().await?)
        }
    };
    open.execute(sqlx::AssertSqlSafe(format!("NOTIFY {channel}"))).await.map(|_| ())
}

/// Starts a listener that raises `hint` whenever another process may have committed work.
/// `channel` is the one given to [`HintSender::start`]. It ends with `shutdown`.
pub fn listen(
    db: &DatabaseConnection,
    channel: &'static str,
    hint: Hint,
    shutdown: CancellationToken,
) {
    let db = db.clone();
    tokio::spawn(shutdown.run_until_cancelled_owned(async move {
        let mut delays = reconnect_delays();
        loop {
            let ended = match db.get_database_backend() {
                DbBackend::Postgres => listen_postgres(&db, channel, &hint, &mut delays).await,
                _ => watch_sqlite(&db, &hint, &mut delays).await,
            };
            if let Err(error) = ended {
                tracing::debug!(%error, channel, "hints interrupted; the poll goes on");
            }
            tokio::time::sleep(delays.next().unwrap_or(NOTIFY_GAP)).await;
        }
    }));
}

type Delays = <ExponentialBuilder as BackoffBuilder>::Backoff;

fn reconnect_delays() -> Delays {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(100))
        .with_max_delay(Duration::from_secs(2))
        .with_jitter()
        .without_max_times()
        .build()
}

async fn listen_postgres(
    db: &DatabaseConnection,
    channel: &str,
    hint: &Hint,
    delays: &mut Delays,
) -> Result<(), sqlx::Error> {
    // A pool of its own: a listener keeps its connection for good and must not starve the others.
    let options = db.get_postgres_connection_pool().connect_options();
    let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with((*options).clone());
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.listen(channel).await?;
    *delays = reconnect_delays();
    loop {
        // Whatever was sent while we were not listening: one look covers it all.
        hint.give();
        // `None` is a reconnect: notifications may have been lost.
        let Ok(received) = tokio::time::timeout(QUIET, listener.try_recv()).await else {
            // A connection that a firewall has dropped is as quiet as one that has nothing to say.
            let alive = tokio::time::timeout(NOTIFY_TIMEOUT, listener.execute("SELECT 1")).await;
            alive.map_err(|_| sqlx::Error::PoolTimedOut)??;
            continue;
        };
        received?;
    }
}

async fn watch_sqlite(
    db: &DatabaseConnection,
    hint: &Hint,
    delays: &mut Delays,
) -> Result<(), sqlx::Error> {
    // `data_version` tells of commits by *other* connections, so the watcher needs one of its own.
    let options = db.get_sqlite_connection_pool().connect_options();
    let mut connection = options.connect().await?;
    *delays = reconnect_delays();
    let mut last = None;
    loop {
        let row = sqlx::query("PRAGMA data_version").fetch_one(&mut connection).await?;
        let version: i64 = row.try_get(0)?;
        if last.replace(version) != Some(version) {
            hint.give();
        }
        tokio::time::sleep(SQLITE_WATCH_INTERVAL).await;
    }
}
