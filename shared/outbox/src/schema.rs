//! The tables, for use in your own migrations.

use database::create_table;
use sea_orm::{ConnectionTrait, DbErr};

/// Creates `outbox_messages` and `outbox_archives` with their indexes.
///
/// # Errors
/// Whatever the database answers.
pub async fn up<C: ConnectionTrait>(connection: &C) -> Result<(), DbErr> {
    create_table(connection, "outbox_messages", MESSAGES).await?;
    create_table(connection, "outbox_archives", ARCHIVES).await?;
    for index in INDEXES {
        connection.execute_unprepared(index).await?;
    }
    if database::Dialect::of(connection) == database::Dialect::Postgres {
        connection.execute_unprepared(POSTGRES_STORAGE).await?;
    }
    Ok(())
}

/// Drops them again.
///
/// # Errors
/// Whatever the database answers.
pub async fn down<C: ConnectionTrait>(connection: &C) -> Result<(), DbErr> {
    connection.execute_unprepared("DROP TABLE outbox_archives").await?;
    connection.execute_unprepared("DROP TABLE outbox_messages").await?;
    Ok(())
}

const MESSAGES: &str = "
  id IDENTITY, -- order of writing; gaps and late commits are normal, never remember the last one
  message_id text NOT NULL UNIQUE, -- UUID, the same in every attempt
  aggregate_type text NOT NULL,
  aggregate_id text NOT NULL, -- messages of one aggregate are published in order
  aggregate_version bigint NOT NULL, -- their order
  type text NOT NULL, -- the event's name
  schema_version integer NOT NULL DEFAULT 1, -- major version of the payload's form
  payload JSON NOT NULL, -- the body, byte for byte
  headers JSON NOT NULL DEFAULT '{}', -- trace context and the like
  occurred_on TIMESTAMP NOT NULL,
  sent_at TIMESTAMP, -- when the broker's confirm was written down
  status text NOT NULL DEFAULT 'Pending' CHECK (status IN ('Pending', 'Sent', 'Dead', 'Discarded')), -- the relay's state
  retry_count integer NOT NULL DEFAULT 0, -- failures of its own; outages of the broker do not count
  next_attempt_at TIMESTAMP, -- not before; null: at once
  last_error text, -- why it is not sent yet, or why it is dead
  claimed_by text, -- the relay that has it, for people
  claim_token text, -- fencing token of that claim: only its holder may write the row
  claimed_until TIMESTAMP, -- from then on any relay may claim it
  UNIQUE (aggregate_type, aggregate_id, aggregate_version)";

const ARCHIVES: &str = "
  id bigint PRIMARY KEY, -- as it was in outbox_messages
  message_id text NOT NULL UNIQUE, -- UUID
  aggregate_type text NOT NULL,
  aggregate_id text NOT NULL,
  aggregate_version bigint NOT NULL,
  type text NOT NULL,
  schema_version integer NOT NULL,
  payload JSON NOT NULL,
  headers JSON NOT NULL,
  occurred_on TIMESTAMP NOT NULL,
  sent_at TIMESTAMP NOT NULL,
  archived_at TIMESTAMP NOT NULL";

/// Both hold only rows that still wait: however many were sent, the relay's look stays short.
const INDEXES: [&str; 2] = [
    "CREATE INDEX outbox_messages_pending ON outbox_messages (id) WHERE status = 'Pending'",
    "CREATE INDEX outbox_messages_unsent ON outbox_messages
       (aggregate_type, aggregate_id, aggregate_version) WHERE status IN ('Pending', 'Dead')",
];

/// Every row is updated twice and then never again: leave room on the page, clean up early.
const POSTGRES_STORAGE: &str = "ALTER TABLE outbox_messages SET (
  fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0)";
