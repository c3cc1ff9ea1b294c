//! An outbox in a database of its own, with a fake broker beside it.

use std::time::Duration;

use chrono::{DateTime, Utc};
use database::{Dialect, PoolSettings, begin_write};
use outbox::{Backoff, NewMessage, Relay, RelayOptions};
use sea_orm::{ConnectionTrait, DatabaseConnection, FromQueryResult};
use serde_json::{Value, json};
use test_kit::{Backing, Storage, connect};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use transport::MessageId;

use crate::broker::FakeBroker;

/// What a test works on.
pub(crate) struct Outbox {
    pub(crate) db: DatabaseConnection,
    pub(crate) broker: FakeBroker,
    url: String,
    _storage: Storage,
}

/// A row as it stands in the table.
#[derive(Debug, Clone, PartialEq, FromQueryResult)]
pub(crate) struct Row {
    pub(crate) message_id: String,
    pub(crate) status: String,
    pub(crate) retry_count: i32,
    pub(crate) last_error: Option<String>,
    pub(crate) next_attempt_at: Option<String>,
    pub(crate) sent_at: Option<String>,
    pub(crate) claimed_by: Option<String>,
    pub(crate) claim_token: Option<String>,
    pub(crate) claimed_until: Option<String>,
}

impl Row {
    /// Nobody has it.
    pub(crate) fn is_unclaimed(&self) -> bool {
        (&self.claimed_by, &self.claim_token, &self.claimed_until) == (&None, &None, &None)
    }
}

impl Outbox {
    pub(crate) async fn new(backing: Backing) -> Self {
        let storage = Storage::new(backing);
        let url = storage.create_database("outbox").await.expect("a database");
        let db = connect(&url).expect("a pool");
        outbox::schema::up(&db).await.expect("tables");
        Self { db, broker: FakeBroker::default(), url, _storage: storage }
    }

    /// Another pool on the same database, as another process has it.
    pub(crate) fn another_pool(&self) -> DatabaseConnection {
        connect(&self.url).expect("a pool")
    }

    /// A single connection that the server shows under a name of its own.
    pub(crate) fn single_connection(&self, name: &str) -> DatabaseConnection {
        let settings = PoolSettings { application_name: name.to_owned(), max_connections: 1 };
        database::connect(&self.url, &settings).expect("a pool")
    }

    /// Appends and commits.
    pub(crate) async fn append(&self, message: NewMessage) -> MessageId {
        append_on(&self.db, message).await
    }

    /// Appends and commits version after version, each in a transaction of its own.
    pub(crate) async fn append_versions(
        &self,
        aggregate: &str,
        versions: impl IntoIterator<Item = i64>,
    ) {
        for version in versions {
            self.append(message(aggregate, version)).await;
        }
    }

    /// A relay with a pool of its own, as another process has it.
    pub(crate) fn relay(&self, options: RelayOptions) -> Relay {
        Relay::new(self.another_pool(), self.broker.transport(), options).expect("valid options")
    }

    /// The same, running.
    pub(crate) fn run_relay(&self, options: RelayOptions) -> Running {
        let shutdown = CancellationToken::new();
        let task = tokio::spawn(self.relay(options).run(shutdown.clone()));
        Running { task, shutdown: shutdown.clone(), _stops: shutdown.drop_guard() }
    }

    pub(crate) async fn counts(&self) -> outbox::Counts {
        outbox::counts(&self.db).await.expect("counts")
    }

    /// The row of one version of an aggregate.
    pub(crate) async fn row(&self, aggregate: &str, version: i64) -> Row {
        let values = [aggregate.into(), version.into()];
        let rows = self.rows("WHERE aggregate_id = $1 AND aggregate_version = $2", values).await;
        rows.into_iter().next().expect("the row")
    }

    /// When the first message of an aggregate was written.
    pub(crate) async fn occurred_on(&self, aggregate: &str) -> DateTime<Utc> {
        let sql = "SELECT occurred_on FROM outbox_messages WHERE aggregate_id = $1 ORDER BY id";
        let statement = Dialect::of(&self.db).statement(sql, [aggregate.into()]);
        let row = self.db.query_one_raw(statement).await.expect("an answer").expect("a row");
        row.try_get("", "occurred_on").expect("a time")
    }

    /// All rows, in the order of writing.
    pub(crate) async fn all_rows(&self) -> Vec<Row> {
        self.rows("", []).await
    }

    async fn rows(
        &self,
        condition: &str,
        values: impl IntoIterator<Item = sea_orm::Value>,
    ) -> Vec<Row> {
        let sql = format!(
            "SELECT message_id, status, retry_count, last_error, claimed_by, claim_token,
               CAST(next_attempt_at AS text) AS next_attempt_at, CAST(sent_at AS text) AS sent_at,
               CAST(claimed_until AS text) AS claimed_until
             FROM outbox_messages {condition} ORDER BY id"
        );
        let statement = Dialect::of(&self.db).statement(sql, values);
        let rows = self.db.query_all_raw(statement).await.expect("rows");
        rows.iter().map(|row| Row::from_query_result(row, "").expect("a row")).collect()
    }

    pub(crate) async fn execute(&self, sql: &str) {
        self.db.execute_unprepared(sql).await.expect(sql);
    }
}

/// Appends and commits on a pool of one's own.
pub(crate) async fn append_on(db: &DatabaseConnection, message: NewMessage) -> MessageId {
    let tx = begin_write(db).await.expect("a transaction");
    let id = outbox::append(&tx, message).await.expect("appended");
    tx.commit().await.expect("committed");
    id
}

/// A relay that runs until it is stopped or dropped.
pub(crate) struct Running {
    task: JoinHandle<()>,
    pub(crate) shutdown: CancellationToken,
    _stops: DropGuard,
}

impl Running {
    /// Stops it and waits for its end.
    pub(crate) async fn stop(self) {
        self.shutdown.cancel();
        self.ended().await;
    }

    /// Waits for its end.
    pub(crate) async fn ended(self) {
        self.task.await.expect("the relay does not panic");
    }
}

/// `OrderPlaced` about some version of an order.
pub(crate) fn message(aggregate: &str, version: i64) -> NewMessage {
    message_with(aggregate, version, &json!({"orderId": aggregate, "version": version}))
}

pub(crate) fn message_with(aggregate: &str, version: i64, payload: &Value) -> NewMessage {
    NewMessage::new("order", aggregate, version, "OrderPlaced", payload).expect("JSON")
}

/// For single steps: nothing waits longer than it must, and no lease ends during a test.
pub(crate) fn quick() -> RelayOptions {
    RelayOptions {
        poll_interval: Duration::from_millis(10),
        lease: Duration::from_secs(300),
        backoff: Backoff::Linear,
        backoff_base: Duration::ZERO,
        unroutable_interval: Duration::ZERO,
        ..RelayOptions::default()
    }
}

/// For what must not happen twice within a test.
pub(crate) const HOUR: Duration = Duration::from_secs(3600);
