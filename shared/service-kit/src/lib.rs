//! What every service of the shop needs around its job, and nothing of the job itself.

pub mod admin;
pub mod health;
pub mod healthcheck;
pub mod invocation;
pub mod json;
pub mod lab;
pub mod list;
pub mod metrics;
pub mod problem;
pub mod program;
pub mod server;
pub mod settings;
pub mod tasks;
pub mod telemetry;
pub mod trace;

pub use problem::Problem;
