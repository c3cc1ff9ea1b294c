//! The transactional outbox for SeaORM.
//!
//! A service changes its own tables and tells others about it. A database and a broker share no
//! transaction, so doing the two one after the other loses or invents messages when the process
//! dies in between. The outbox makes it one act: [`append`] writes the message as a row, in the
//! **same transaction** as the change. A [`Relay`] moves committed rows to the broker, at least
//! once each, in order for each aggregate.
//!
//! ```text
//! your transaction                      relay (any number of them)
//! ┌──────────────────────────┐          claim    heads of aggregates, with a lease
//! │ UPDATE orders …          │          publish  all at once, wait for all confirms
//! │ outbox::append(&tx, …)   │  ──────▶ mark     what was confirmed, if still ours
//! └──────────────────────────┘
//! ```
//!
//! Read [`relay`] for the loop, `claim.rs` for which row may be next, and `store.rs` for what is written
//! back. A [`Cleaner`] removes what was sent long ago.
//!
//! Source of the idea: Chris Richardson's *Transactional outbox* and *Polling publisher* patterns.

#[cfg(feature = "lab")]
mod again;
mod append;
mod backoff;
mod batch;
mod claim;
pub mod dead_letters;
mod desk;
mod envelope;
mod lease;
mod look;
mod message;
mod options;
mod publication;
pub mod relay;
mod retention;
mod rows;
pub mod schema;
mod store;
mod totals;

#[cfg(feature = "lab")]
pub use again::message_of;
pub use append::append;
pub use backoff::Backoff;
pub use message::NewMessage;
pub use options::{
    Coordination, DeadLetterPolicy, InvalidRelayOptions, RelayOptions, dotted_routing_key,
};
pub use publication::{hint_sender, unsent_condition, unsent_ids};
pub use relay::{Pass, Relay, RelayError, RelayHealth};
pub use retention::{
    Cleaned, Cleaner, InvalidRetentionOptions, RetentionMode, RetentionOptions, count_removable,
};
pub use store::{Counts, counts};
pub use totals::{RelayTotals, Totals};

/// The channel on which writers tell relays in other processes that something was committed.
const HINT_CHANNEL: &str = "outbox_messages";
