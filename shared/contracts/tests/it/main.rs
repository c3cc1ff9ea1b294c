//! What the shop's processes may do at the broker.

mod compose;
mod rights;
