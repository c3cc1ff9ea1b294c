//! Experiments on the shop. A run starts real processes on fresh databases, with some mistakes in them
//! or none, makes one failure happen at a named point, heals, drains, and says what came of it.
//!
//! ```text
//! mistakes × failure ──▶ processes, databases, broker ──▶ heal ──▶ drain ──▶ verdict + trace
//! ```
//!
//! The failures are files in `scenarios/`; the playground and the tests on PostgreSQL and RabbitMQ run the
//! same ones. Nothing is timed: at each crash point a process asks a gate and waits for its answer,
//! and meanwhile the lab reads every table. Those readings are the trace.

pub mod catalogue;
mod client;
mod crew;
mod experiment;
mod gate;
mod matrix;
mod pace;
mod recorder;
mod run;
mod scenario;
pub mod site;
mod snapshot;
mod tamper;
mod text_gateway;
pub mod trace;
mod verdict;
mod watch;
mod work;

pub use catalogue::Catalogue;
pub use experiment::{CantRun, Experiment};
pub use matrix::{Cell, Place, all_cells, matrix};
pub use pace::Pace;
pub use run::Lab;
pub use scenario::Scenario;
pub use site::{EmbeddedSites, Site, Sites};
pub use trace::{Trace, Verdict};
