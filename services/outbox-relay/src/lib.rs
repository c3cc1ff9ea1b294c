//! The relay as a program: one outbox, one broker, a health page. The loop itself is
//! [`outbox::relay`].

mod admin;
mod cleanup;
#[cfg(feature = "lab")]
pub mod lab;
mod metrics;
mod operate;
mod settings;

use std::process::ExitCode;

use anyhow::Context;
use outbox::{Cleaner, Relay};
use service_kit::health::Health;
use service_kit::metrics::{Links, Metrics};
use service_kit::tasks::Tasks;
use service_kit::{program, server, telemetry};
use transport::TransportOptions;

pub use cleanup::Cleanup;
pub use operate::{Dead, Operation, Target, operate};
pub use settings::{Invocation, OutboxRetention, RelaySettings, Settings};

/// Does what the command line says.
#[must_use]
pub fn run(invocation: Invocation) -> ExitCode {
    match invocation {
        Invocation::Serve(settings) => program::run(relay(*settings)),
        Invocation::Command(operation) => operate(*operation),
    }
}

/// Runs the relay until it is told to stop.
///
/// # Errors
/// A setting is invalid, the port is taken, or a task has panicked. Absent servers are no error: it
/// waits for them.
pub async fn relay(settings: Settings) -> anyhow::Result<()> {
    let log_name = format!("relay of {}", settings.relay.relay_app_id);
    telemetry::start(&settings.log, &log_name)?;
    let shutdown = program::shutdown_token(&settings.life);
    let name = format!("outbox-relay-{}-{}", settings.relay.relay_app_id, std::process::id());
    let db = settings.database.pool(&name)?;
    let options = TransportOptions {
        confirm_timeout: settings.relay.confirm_timeout(),
        ..settings.broker.options(&name)
    };
    let transport = settings.broker.transport(contracts::topology(), options)?;
    let cleaner = Cleaner::new(db.clone(), settings.retention.options(name.clone()))
        .context("retention settings")?;
    let relay = Relay::new(db.clone(), transport, settings.relay.options(name))
        .context("relay settings")?;
    let listener = server::bind(settings.http_addr).await?;

    let admin = admin::Admin {
        db: db.clone(),
        token: settings.admin.token()?,
        inbox_retention: settings.retention.times.inbox(),
        totals: relay.totals(),
    };
    let health = Health::default()
        .requires_table(&db, "outbox_messages")
        .requires_link("broker", relay.health().broker);
    let metrics = Metrics::default()
        .source(metrics::Outbox::new(db, relay.totals()))
        .source(Links { broker: relay.health().broker, database: relay.health().database });
    let mut tasks = Tasks::new(shutdown.clone());
    tasks.start("relay", relay.run(shutdown.clone()));
    tasks.start("outbox cleaner", cleaner.run(shutdown.clone()));
    server::announce(&listener, "outbox-relay");
    let router = admin::router(admin).merge(health.router()).merge(metrics.router());
    tasks.beside(server::serve(listener, router, shutdown)).await
}
