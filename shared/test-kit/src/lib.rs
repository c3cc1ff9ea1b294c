//! What tests need: real servers, a fresh database and broker for each test, and waiting for
//! conditions instead of times.
//!
//! The servers run in containers, one of each for a whole run: the program `with-servers` starts
//! them, runs a command with their addresses in its environment, and removes them.

mod backing;
mod eventually;
mod example;
mod proxy;
mod servers;

pub use backing::{Backing, Storage, connect};
pub use eventually::{eventually, eventually_some};
pub use example::Example;
pub use proxy::Proxy;
pub use servers::{Servers, start_servers};
