//! Logs.

use std::io::IsTerminal;

use anyhow::Context;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};

use crate::settings::LogSettings;

/// Starts logging to standard error. `process` tells whose line it is where several share a terminal.
///
/// # Errors
/// The filter can't be read, or logging was started before.
pub fn start(settings: &LogSettings, process: &str) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&settings.rust_log)
        .with_context(|| format!("RUST_LOG {:?}: not a log filter", settings.rust_log))?;
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match settings.log_format.as_str() {
        "json" => logs.json().flatten_event(true).try_init(),
        _ => logs
            .with_ansi(std::io::stderr().is_terminal())
            .with_timer(TimeAndProcess(process.to_owned()))
            .with_target(false)
            .try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("logging: {error}"))
}

/// What stands before each line for people.
struct TimeAndProcess(String);

impl FormatTime for TimeAndProcess {
    fn format_time(&self, writer: &mut Writer<'_>) -> std::fmt::Result {
        SystemTime.format_time(writer)?;
        write!(writer, " {:<26}", self.0)
    }
}
