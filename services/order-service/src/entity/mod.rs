//! The tables of this service as SeaORM sees them.

pub(crate) mod idempotency_keys;
pub(crate) mod order_lines;
pub(crate) mod orders;
