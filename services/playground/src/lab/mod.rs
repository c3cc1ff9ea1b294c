//! The lab: experiments from the page and from the command line. Not in production builds.

mod api;
mod board;
mod command;
mod definition;
mod export;
mod programs;
pub(crate) mod sources;

pub(crate) use api::router;
pub use command::LabCommand;
pub(crate) use command::lab;
pub use export::Export;
pub use programs::ExperimentProgram;
