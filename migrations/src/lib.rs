//! The tables of both databases. Every database has an outbox and an inbox; the rest is its own.

mod inventory;
mod m20261130_100000_create_outbox;
mod m20261130_100100_create_inbox;
mod m20261130_200000_operate_outbox;
mod m20261130_200100_operate_inbox;
mod orders;
mod run;

pub use run::{Database, MigrateSettings, down, run, up, wait_for};
