//! The relay as the lab runs it: the same loop, and the mistakes that `MISTAKES` names. Not in
//! production builds.

use anyhow::Context;
use mistakes::{
    Mistake, Mistakes, claim_without_lock, confirm_lost, mark_before_confirm,
    publish_without_mandatory,
};
use outbox::Relay;
use service_kit::health::Health;
use service_kit::tasks::Tasks;
use service_kit::{program, server, telemetry};
use transport::TransportOptions;

use crate::Settings;

/// Runs the relay until it is told to stop.
///
/// # Errors
/// A setting is invalid, or the port is taken.
pub async fn run(settings: Settings) -> anyhow::Result<()> {
    let app_id = settings.relay.relay_app_id.clone();
    telemetry::start(&settings.log, &format!("relay of {app_id}"))?;
    let mistakes = Mistakes::from_environment()?;
    let shutdown = program::shutdown_token(&settings.life);
    let name = std::env::var("LAB_PROCESS").unwrap_or_else(|_| format!("relay-of-{app_id}"));
    let db = settings.database.pool(&name)?;
    let options = TransportOptions {
        confirm_timeout: settings.relay.confirm_timeout(),
        ..settings.broker.options(&name)
    };
    let mut transport = settings.broker.transport(contracts::topology(), options)?;
    transport = confirm_lost::transport(transport);
    if mistakes.has(Mistake::PublishWithoutMandatory) {
        transport = publish_without_mandatory::transport(transport);
    }
    if mistakes.has(Mistake::MarkBeforeConfirm) {
        transport = mark_before_confirm::transport(transport);
    }
    let listener = server::bind(settings.http_addr).await?;
    let health = Health::default().requires_table(&db, "outbox_messages");
    let mut tasks = Tasks::new(shutdown.clone());
    let health = if mistakes.has(Mistake::ClaimWithoutLock) {
        let relay = claim_without_lock::Relay { db, transport, app_id };
        tasks.start("relay", relay.run(shutdown.clone()));
        health
    } else {
        let relay =
            Relay::new(db, transport, settings.relay.options(name)).context("relay settings")?;
        let health = health.requires_link("broker", relay.health().broker);
        tasks.start("relay", relay.run(shutdown.clone()));
        health
    };
    server::announce(&listener, "outbox-relay");
    tasks.beside(server::serve(listener, health.router(), shutdown)).await
}
