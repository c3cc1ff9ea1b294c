//! The tables, for use in your own migrations.

use database::create_table;
use sea_orm::{ConnectionTrait, DbErr};

/// Creates `inbox_messages` and `parked_messages`.
///
/// # Errors
/// Whatever the database answers.
pub async fn up<C: ConnectionTrait>(connection: &C) -> Result<(), DbErr> {
    create_table(connection, "inbox_messages", INBOX).await?;
    create_table(connection, "parked_messages", PARKED).await?;
    connection
        .execute_unprepared(
            "CREATE INDEX parked_messages_fingerprint ON parked_messages (consumer, fingerprint)",
        )
        .await?;
    Ok(())
}

/// Drops them again.
///
/// # Errors
/// Whatever the database answers.
pub async fn down<C: ConnectionTrait>(connection: &C) -> Result<(), DbErr> {
    connection.execute_unprepared("DROP TABLE parked_messages").await?;
    connection.execute_unprepared("DROP TABLE inbox_messages").await?;
    Ok(())
}

const INBOX: &str = "
  consumer text NOT NULL, -- each consumer of this database has its own once
  message_id text NOT NULL, -- UUID
  payload_hash text NOT NULL, -- SHA-256 of the body, in hex: the same id with another body is an error
  processed_at TIMESTAMP NOT NULL, -- by the database's clock; retention goes by it
  PRIMARY KEY (consumer, message_id)";

const PARKED: &str = "
  parked_id text PRIMARY KEY, -- UUID of the parking, since the message may have no id
  consumer text NOT NULL,
  message_id text, -- as it came; null: none
  type text, -- as it came; null: none
  reason text NOT NULL, -- one word, for programs
  detail text NOT NULL, -- one sentence, for people
  properties JSON NOT NULL, -- routing key, properties and headers as they came
  body BYTES NOT NULL, -- intact
  fingerprint text NOT NULL, -- hash over properties and body: a redelivery is parked once
  parked_at TIMESTAMP NOT NULL,
  state text NOT NULL DEFAULT 'parked' CHECK (state IN ('parked', 'retried', 'discarded'))";
