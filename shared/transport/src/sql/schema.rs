use std::error::Error;

use database::{Dialect, Failure, MigrationLock, create_table};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr, TransactionTrait};

/// Creates the broker's tables unless they are there. Any number of processes may call it at once.
pub(super) async fn create_if_missing(
    db: &DatabaseConnection,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    if Dialect::of(db) == Dialect::Postgres && exists(db).await? {
        return Ok(());
    }
    // On SQLite before the first look: whoever connects first makes the file a WAL one, and meanwhile
    // all others would get an error ("database is locked") instead of waiting.
    let _one_at_a_time = MigrationLock::acquire(db).await?;
    if exists(db).await? {
        return Ok(());
    }
    let tx = db.begin().await?;
    create_table(&tx, "broker_queues", QUEUES).await?;
    create_table(&tx, "broker_bindings", BINDINGS).await?;
    create_table(&tx, "broker_messages", MESSAGES).await?;
    tx.execute_unprepared("CREATE INDEX broker_messages_queue ON broker_messages (queue, id)")
        .await?;
    tx.commit().await?;
    Ok(())
}

async fn exists(db: &DatabaseConnection) -> Result<bool, DbErr> {
    match db.execute_unprepared("SELECT 1 FROM broker_messages LIMIT 0").await {
        Ok(_) => Ok(true),
        Err(error) if Failure::of(&error) == Failure::SchemaMissing => Ok(false),
        Err(error) => Err(error),
    }
}

const QUEUES: &str = "
  name text PRIMARY KEY,
  delivery_limit bigint NOT NULL -- deliveries after which a message is dead-lettered";

const BINDINGS: &str = "
  exchange text NOT NULL,
  pattern text NOT NULL, -- topic pattern: * is one word, # any number
  queue text NOT NULL,
  PRIMARY KEY (exchange, pattern, queue)";

const MESSAGES: &str = "
  id IDENTITY, -- order within the queue
  queue text NOT NULL,
  routing_key text NOT NULL,
  properties text NOT NULL, -- JSON
  headers text NOT NULL, -- JSON
  body BYTES NOT NULL,
  published_at TIMESTAMP NOT NULL,
  deliveries bigint NOT NULL DEFAULT 0, -- how often it was handed to a consumer
  lease_token text, -- the session that holds it; null: ready
  leased_until TIMESTAMP, -- from then on anyone may take it
  death_reason text -- why it is in a dead-letter queue";
