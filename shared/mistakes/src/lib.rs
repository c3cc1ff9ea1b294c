//! Mistakes that people make, one module for each, named after it.
//!
//! The playground's lab runs the shop with some of them, breaks it at a named place, and shows what
//! comes of it. Nothing here is linked into the programs that go into production; nothing in the safe
//! code knows of it. The mistakes that need a service's own tables are in that service's module `lab`.
//!
//! Where a mistake is one of the consumer's, the [`textbook`] consumer takes the place of
//! [`inbox::Consumer`]: it has the protections that are listed in [`Mistake::protection`] and no more. The real
//! one has further nets (versions, counted starts, one decision for each order), and would catch many a fall.

pub mod ack_before_commit;
pub mod claim_without_lock;
pub mod confirm_lost;
mod decorated;
pub mod direct;
pub mod inbox_in_another_transaction;
pub mod mark_before_confirm;
mod mistake;
pub mod no_inbox;
pub mod publish_without_mandatory;
pub mod retry_for_ever;
pub mod textbook;

pub use mistake::{Mistake, Mistakes, UnknownMistake};
