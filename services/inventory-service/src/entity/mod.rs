//! The tables of this service as SeaORM sees them.

pub(crate) mod reservation_lines;
pub(crate) mod reservations;
pub(crate) mod stock_items;
