//! What outbox, inbox and the SQL queue need of a database beyond SeaORM itself.
//!
//! - [`connect`]: pools whose settings close known holes (each one says which)
//! - [`Dialect`]: the few places where SQLite and PostgreSQL spell the same thought differently
//! - [`begin_write`]: the one way to start a writing transaction
//! - [`Failure`]: what an error means for the caller: again later, the transaction again, or give up
//! - [`Hint`]: "look now" between threads and processes; the poll stays the truth
//! - [`DayWindow`]: when work that can wait may be done
//! - [`MigrationLock`]: one migrator at a time

mod connect;
mod day_window;
mod ddl;
mod dialect;
mod failure;
mod hint;
mod hosts;
mod migration_lock;
mod transaction;

pub use connect::{InvalidDatabaseUrl, PoolSettings, connect, ping};
pub use day_window::{DayWindow, InvalidDayWindow, Minute};
pub use ddl::{add_column, create_table};
pub use dialect::Dialect;
pub use failure::Failure;
pub use hint::{Hint, HintSender, listen};
pub use migration_lock::{MigrationLock, MigrationLockError};
pub use transaction::begin_write;
