//! An inbox in a database of its own, with a fake broker beside it and a handler that obeys.

use std::time::Duration;

use database::Dialect;
use inbox::{Consumer, ConsumerOptions};
use sea_orm::{ConnectionTrait, DatabaseConnection, FromQueryResult};
use test_kit::{Backing, Storage, connect};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use transport::{Message, MessageId, Properties};

use crate::actor::{Act, Actor, KIND, Then};
use crate::broker::FakeBroker;

pub(crate) const CONSUMER: &str = "shop.acts";
pub(crate) const QUEUE: &str = "acts";

/// What a test works on.
pub(crate) struct Inbox {
    pub(crate) db: DatabaseConnection,
    pub(crate) broker: FakeBroker,
    pub(crate) actor: Actor,
    pub(crate) storage: Storage,
    pub(crate) url: String,
}

/// A row of `parked_messages`.
#[derive(Debug, Clone, PartialEq, FromQueryResult)]
pub(crate) struct Parked {
    pub(crate) consumer: String,
    pub(crate) message_id: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) reason: String,
    pub(crate) detail: String,
    /// JSON as text.
    pub(crate) properties: String,
    pub(crate) body: Vec<u8>,
    pub(crate) state: String,
}

impl Inbox {
    pub(crate) async fn new(backing: Backing) -> Self {
        let storage = Storage::new(backing);
        let url = storage.create_database("inbox").await.expect("a database");
        let db = connect(&url).expect("a pool");
        inbox::schema::up(&db).await.expect("tables");
        // No key: an effect that happens twice must show.
        db.execute_unprepared("CREATE TABLE effects (name text NOT NULL)").await.expect("a table");
        let broker = FakeBroker::new(connect(&url).expect("a pool"));
        Self { db, broker, actor: Actor::default(), storage, url }
    }

    /// Another pool on the same database, as another process has it.
    pub(crate) fn another_pool(&self) -> DatabaseConnection {
        connect(&self.url).expect("a pool")
    }

    /// A consumer with a pool of its own, as another process has it.
    pub(crate) fn consumer(&self, options: ConsumerOptions) -> Consumer<Actor> {
        let transport = self.broker.transport();
        Consumer::new(self.another_pool(), transport, self.actor.clone(), options)
    }

    /// The same, running.
    pub(crate) fn run_consumer(&self, options: ConsumerOptions) -> Running {
        Running::start(self.consumer(options))
    }

    /// Puts a message into the consumer's queue and returns its number.
    pub(crate) fn send(&self, message: Message) -> usize {
        self.broker.send(QUEUE, message)
    }

    /// All effects, sorted by name.
    pub(crate) async fn effects(&self) -> Vec<String> {
        let rows = self.query("SELECT name FROM effects ORDER BY name").await;
        rows.iter().map(|row| row.try_get("", "name").expect("text")).collect()
    }

    /// How many messages the inbox knows.
    pub(crate) async fn known(&self) -> i64 {
        let rows = self.query("SELECT COUNT(*) AS n FROM inbox_messages").await;
        rows[0].try_get("", "n").expect("a number")
    }

    /// How often each message was started without success, by name.
    pub(crate) async fn starts(&self) -> Vec<(String, i32)> {
        let rows = self.query("SELECT message_id, starts FROM inbox_attempts").await;
        let column = |row: &sea_orm::QueryResult| {
            (row.try_get("", "message_id").expect("text"), row.try_get("", "starts").expect("n"))
        };
        rows.iter().map(column).collect()
    }

    /// Everything that was parked, in this order.
    pub(crate) async fn parked(&self) -> Vec<Parked> {
        let rows = self
            .query(
                "SELECT consumer, message_id, type AS kind, reason, detail,
                   CAST(properties AS text) AS properties, body, state
                 FROM parked_messages ORDER BY parked_id",
            )
            .await;
        rows.iter().map(|row| Parked::from_query_result(row, "").expect("a row")).collect()
    }

    async fn query(&self, sql: &str) -> Vec<sea_orm::QueryResult> {
        let statement = Dialect::of(&self.db).statement(sql, []);
        self.db.query_all_raw(statement).await.expect(sql)
    }

    pub(crate) async fn execute(&self, sql: &str) {
        self.db.execute_unprepared(sql).await.expect(sql);
    }
}

/// A consumer that runs until it is stopped or dropped.
pub(crate) struct Running {
    task: JoinHandle<()>,
    pub(crate) shutdown: CancellationToken,
    _stops: DropGuard,
}

impl Running {
    pub(crate) fn start(consumer: Consumer<Actor>) -> Self {
        let shutdown = CancellationToken::new();
        let task = tokio::spawn(consumer.run(shutdown.clone()));
        Self { task, shutdown: shutdown.clone(), _stops: shutdown.drop_guard() }
    }

    /// Stops it and waits for its end.
    pub(crate) async fn stop(self) {
        self.shutdown.cancel();
        self.ended().await;
    }

    /// Waits for its end.
    pub(crate) async fn ended(self) {
        self.task.await.expect("the consumer does not panic");
    }
}

/// A message with a new id.
pub(crate) fn message(name: &str, then: Then) -> Message {
    let act = Act { name: name.to_owned(), then };
    Message {
        routing_key: "act.done".to_owned(),
        properties: Properties {
            message_id: Some(MessageId::generate().to_string()),
            kind: Some(KIND.to_owned()),
            content_type: Some("application/json".to_owned()),
            ..Properties::default()
        },
        headers: [("schema-version".to_owned(), 1.into())].into(),
        body: serde_json::to_vec(&act).expect("JSON"),
    }
}

/// The same, about an aggregate: its name is that of the aggregate and the version.
pub(crate) fn about(aggregate: &str, version: i64, then: Then) -> Message {
    let mut message = message(&format!("{aggregate}{version}"), then);
    message.headers.insert("aggregate-id".to_owned(), aggregate.into());
    message.headers.insert("aggregate-version".to_owned(), version.into());
    message
}

/// Three tries with almost no wait between them.
pub(crate) fn quick() -> ConsumerOptions {
    ConsumerOptions {
        max_attempts: 3,
        retry_delay: Duration::from_millis(1),
        ..ConsumerOptions::new(CONSUMER, QUEUE)
    }
}

/// A failed message waits longer than any test runs.
pub(crate) fn patient() -> ConsumerOptions {
    ConsumerOptions { retry_delay: Duration::from_secs(3600), ..quick() }
}
