//! The transactional inbox for SeaORM.
//!
//! Brokers deliver at least once: after a crash, a lost acknowledgement or a second publish, the
//! same message comes again. The inbox makes the *effect* happen once. It writes the message's id
//! into a table, in the **same transaction** as the effect; the second delivery finds the id and
//! changes nothing.
//!
//! ```text
//! receive ─▶ BEGIN ─▶ inbox row ─▶ effect ─▶ reply into the outbox ─▶ COMMIT ─▶ ack
//!                        └─ there already: ack, nothing else
//! ```
//!
//! Read `transaction.rs` for the trick, `process.rs` for the transaction of a [`Consumer`], and
//! `consumer.rs` for what happens around it. Implement [`Handler`] and give it to a [`Consumer`]. A
//! [`Cleaner`] forgets what was processed long ago.
//!
//! Source of the idea: Gregor Hohpe's *Idempotent Receiver* and Chris Richardson's *Idempotent Consumer*.

mod aggregate;
mod attempts;
mod calls;
mod consumer;
mod counts;
mod dead_letters;
mod handler;
mod lane;
pub mod parked;
mod parking;
mod positions;
mod process;
mod retention;
pub mod schema;
mod transaction;
mod turns;
mod waiting_room;
mod work;
mod worker;

pub use consumer::{Consumer, ConsumerHealth, ConsumerOptions};
pub use counts::{ConsumerCounts, ConsumerTotals};
pub use handler::{Handler, Unreadable, Verdict, json_body};
pub use parking::Reason;
pub use retention::{Cleaned, Cleaner, RetentionOptions};
pub use transaction::{InboxTransaction, Receipt, begin};
