//! What only real servers show.

mod hosts;
mod pool;
