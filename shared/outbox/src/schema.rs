//! The tables, for use in your own migrations.

use database::{Dialect, add_column, create_table};
use sea_orm::{ConnectionTrait, DbErr};

/// One change of the tables. Make each a migration of yours, in this order; a step never changes
/// once it was released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// `outbox_messages` and `outbox_archives`.
    Create,
    /// What operating it takes: an index by due time, `dead_at`, `outbox_leases`, `outbox_actions`.
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
            Self::Create => create(connection).await,
            Self::Operate => operate(connection).await,
        }
    }

    /// Takes it back.
    ///
    /// # Errors
    /// Whatever the database answers.
    pub async fn down<C: ConnectionTrait>(self, connection: &C) -> Result<(), DbErr> {
        let statements: &[&str] = match self {
            Self::Create => &["DROP TABLE outbox_archives", "DROP TABLE outbox_messages"],
            Self::Operate => &[
                "DROP TABLE outbox_actions",
                "DROP TABLE outbox_leases",
                // Not there in a database that was made before it was.
                "DROP INDEX IF EXISTS outbox_messages_discarded",
                "DROP INDEX outbox_messages_dead",
                "DROP INDEX outbox_messages_blocking",
                "DROP INDEX outbox_messages_due",
                UNSENT,
                PENDING,
                "ALTER TABLE outbox_messages DROP COLUMN dead_at",
            ],
        };
        execute(connection, statements).await
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

async fn create<C: ConnectionTrait>(connection: &C) -> Result<(), DbErr> {
    create_table(connection, "outbox_messages", MESSAGES).await?;
    create_table(connection, "outbox_archives", ARCHIVES).await?;
    execute(connection, &[PENDING, UNSENT]).await?;
    if Dialect::of(connection) == Dialect::Postgres {
        connection.execute_unprepared(POSTGRES_STORAGE).await?;
    }
    Ok(())
}

async fn operate<C: ConnectionTrait>(connection: &C) -> Result<(), DbErr> {
    add_column(connection, "outbox_messages", DEAD_AT).await?;
    let replaced = ["DROP INDEX outbox_messages_pending", "DROP INDEX outbox_messages_unsent"];
    execute(connection, &replaced).await?;
    execute(connection, &[DUE, BLOCKING, DEAD, DISCARDED]).await?;
    create_table(connection, "outbox_leases", LEASES).await?;
    create_table(connection, "outbox_actions", ACTIONS).await?;
    execute(connection, &[ACTIONS_OF]).await
}

async fn execute<C: ConnectionTrait>(connection: &C, statements: &[&str]) -> Result<(), DbErr> {
    for statement in statements {
        connection.execute_unprepared(statement).await?;
    }
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

/// Replaced by [`DUE`].
const PENDING: &str =
    "CREATE INDEX outbox_messages_pending ON outbox_messages (id) WHERE status = 'Pending'";

/// Replaced by [`BLOCKING`].
const UNSENT: &str = "CREATE INDEX outbox_messages_unsent ON outbox_messages
   (aggregate_type, aggregate_id, aggregate_version) WHERE status IN ('Pending', 'Dead')";

/// The rows that block later ones of their aggregate. However many were sent, it stays short.
///
/// Every id is above 0. It is said so that only queries which say it too can be given this index:
/// PostgreSQL's planner took it for the search of due rows while its statistics said that nothing was
/// pending, read all pending rows, and sorted them.
const BLOCKING: &str = "CREATE INDEX outbox_messages_blocking ON outbox_messages
   (aggregate_type, aggregate_id, aggregate_version)
   WHERE status IN ('Pending', 'Dead') AND id > 0";

/// For people who look for them, and for a leader, which stops at one.
const DEAD: &str =
    "CREATE INDEX outbox_messages_dead ON outbox_messages (id) WHERE status = 'Dead'";

/// For people who look for them among all that were sent.
const DISCARDED: &str =
    "CREATE INDEX outbox_messages_discarded ON outbox_messages (id) WHERE status = 'Discarded'";

/// The rows that wait, by the time when they are due. A row that is to be tried later stands behind
/// all that are due now, so that the claim never reads over it.
const DUE: &str = "CREATE INDEX outbox_messages_due ON outbox_messages
   ((COALESCE(next_attempt_at, occurred_on)), id) WHERE status = 'Pending'";

const DEAD_AT: &str = "dead_at TIMESTAMP -- when it was given up";

const LEASES: &str = "
  name text PRIMARY KEY, -- what only one process may do at a time
  holder text NOT NULL, -- the process that may, for people
  token text NOT NULL, -- fencing token: tells this holder from an earlier one of the same name
  held_until TIMESTAMP NOT NULL -- by the database's clock; from then on anybody may take it";

const ACTIONS: &str = "
  id IDENTITY,
  acted_at TIMESTAMP NOT NULL, -- by the database's clock
  actor text NOT NULL, -- who, as they named themselves
  action text NOT NULL CHECK (action IN ('retry', 'discard')),
  message_id text NOT NULL, -- the message it was done to
  reason text CHECK (reason IS NOT NULL OR action <> 'discard'), -- why; a discard needs one
  last_error text -- what the row said before";

/// The actions of one message, for whoever looks at it.
const ACTIONS_OF: &str = "CREATE INDEX outbox_actions_message ON outbox_actions (message_id)";

/// Every row is updated twice and then never again: leave room on the page, clean up early.
const POSTGRES_STORAGE: &str = "ALTER TABLE outbox_messages SET (
  fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0)";
