//! The tables, for use in your own migrations.

use database::create_table;
use sea_orm::{ConnectionTrait, DbErr};

/// One change of the tables. Make each a migration of yours, in this order; a step never changes
/// once it was released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// `inbox_messages` and `parked_messages`.
    Create,
    /// What operating it takes: `inbox_attempts`, `inbox_positions`, `parked_actions`, an index for the cleaning.
    Operate,
}

impl Step {
    /// All steps, in order.
    pub const ALL: [Self; 2] = [Self::Create, Self::Operate];

    /// Carries it out.
    ///
    /// # Errors
    /// Whatever the database answers.
    pub async fn up<C: ConnectionTrait>(self, connection: &C) -> Result<(), DbErr> {
        match self {
            Self::Create => {
                create_table(connection, "inbox_messages", INBOX).await?;
                create_table(connection, "parked_messages", PARKED).await?;
                connection.execute_unprepared(FINGERPRINT).await?;
            }
            Self::Operate => {
                create_table(connection, "inbox_attempts", ATTEMPTS).await?;
                create_table(connection, "inbox_positions", POSITIONS).await?;
                create_table(connection, "parked_actions", ACTIONS).await?;
                connection.execute_unprepared(PROCESSED).await?;
                connection.execute_unprepared(ACTIONS_OF).await?;
            }
        }
        Ok(())
    }

    /// Takes it back.
    ///
    /// # Errors
    /// Whatever the database answers.
    pub async fn down<C: ConnectionTrait>(self, connection: &C) -> Result<(), DbErr> {
        let statements: &[&str] = match self {
            Self::Create => &["DROP TABLE parked_messages", "DROP TABLE inbox_messages"],
            Self::Operate => &[
                "DROP INDEX inbox_messages_processed",
                "DROP TABLE parked_actions",
                "DROP TABLE inbox_positions",
                "DROP TABLE inbox_attempts",
            ],
        };
        for statement in statements {
            connection.execute_unprepared(statement).await?;
        }
        Ok(())
    }
}

/// All steps at once, for a database that has none of them.
///
/// # Errors
/// Whatever the database answers.
pub async fn up<C: ConnectionTrait>(connection: &C) -> Result<(), DbErr> {
    for step in Step::ALL {
        step.up(connection).await?;
    }
    Ok(())
}

/// Takes all steps back, data included.
///
/// # Errors
/// Whatever the database answers.
pub async fn down<C: ConnectionTrait>(connection: &C) -> Result<(), DbErr> {
    for step in Step::ALL.into_iter().rev() {
        step.down(connection).await?;
    }
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

const FINGERPRINT: &str =
    "CREATE INDEX parked_messages_fingerprint ON parked_messages (consumer, fingerprint)";

/// The cleaning looks for the oldest of one consumer. By time alone it would read over the rows of
/// those consumers that remember longer, again for each batch.
const PROCESSED: &str =
    "CREATE INDEX inbox_messages_processed ON inbox_messages (consumer, processed_at)";

const ATTEMPTS: &str = "
  consumer text NOT NULL,
  message_id text NOT NULL, -- UUID; what has none is never handled
  starts integer NOT NULL, -- how often its handler was started and did not succeed
  started_at TIMESTAMP NOT NULL, -- the last time
  PRIMARY KEY (consumer, message_id)";

const POSITIONS: &str = "
  consumer text NOT NULL,
  aggregate_type text NOT NULL,
  aggregate_id text NOT NULL,
  aggregate_version bigint NOT NULL, -- the last version whose effect is here
  updated_at TIMESTAMP NOT NULL,
  PRIMARY KEY (consumer, aggregate_type, aggregate_id)";

const ACTIONS: &str = "
  id IDENTITY,
  acted_at TIMESTAMP NOT NULL, -- by the database's clock
  actor text NOT NULL, -- who, as they named themselves
  action text NOT NULL CHECK (action IN ('retry', 'discard')),
  parked_id text NOT NULL, -- the parked message it was done to
  reason text CHECK (reason IS NOT NULL OR action <> 'discard'), -- why; a discard needs one
  outcome text -- what came of a retry";

/// The actions of one parked message, for whoever looks at it.
const ACTIONS_OF: &str = "CREATE INDEX parked_actions_parked ON parked_actions (parked_id)";
