//! The lab: experiments from the command line. Not in production builds.

mod command;
mod programs;

pub use command::LabCommand;
pub use programs::ExperimentProgram;
