//! Logs.

use std::io::IsTerminal;

use anyhow::Context;
use tracing_subscriber::EnvFilter;

use crate::settings::LogSettings;

/// Starts logging to standard error.
///
/// # Errors
/// The filter can't be read, or logging was started before.
pub fn start(settings: &LogSettings) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&settings.rust_log)
        .with_context(|| format!("RUST_LOG {:?}: not a log filter", settings.rust_log))?;
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match settings.log_format.as_str() {
        "json" => logs.json().flatten_event(true).try_init(),
        _ => logs.with_ansi(std::io::stderr().is_terminal()).try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("logging: {error}"))
}
