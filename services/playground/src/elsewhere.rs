//! The page for services that run elsewhere: in containers, on other machines. It starts nothing,
//! keeps nothing and changes nothing but by the services' own HTTP calls.

mod settings;
mod watch;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use database::PoolSettings;
use sea_orm::DatabaseConnection;
use service_kit::tasks::Tasks;
use service_kit::{program, server, telemetry};
use tokio::sync::Notify;

pub use settings::{Invocation, PageSettings};

use crate::live::Live;
use crate::page::{self, Services};
use crate::snapshot::Sources;

/// Does what the command line says.
#[must_use]
pub fn page(invocation: Invocation) -> ExitCode {
    invocation.run(serve)
}

/// Serves the page until it is told to stop.
///
/// # Errors
/// A setting is invalid, or the port is taken. What is away is shown, and no error.
async fn serve(settings: PageSettings) -> anyhow::Result<()> {
    telemetry::start(&settings.log, "page")?;
    let shutdown = program::shutdown_token(&settings.life);
    let sources = Sources::new(
        open(&settings.orders_database()?).context("ORDERS_DATABASE_URL")?,
        open(&settings.inventory_database()?).context("INVENTORY_DATABASE_URL")?,
        &settings.broker()?,
    )?;
    let listener = server::bind(settings.http_addr).await?;

    let services = Services::new(&settings.orders_url, &settings.inventory_url);
    let looked = Arc::new(Notify::new());
    let mut tasks = Tasks::new(shutdown.clone());
    let views = settings.processes().map(|(name, url)| {
        let (watch, view) = watch::of(name, url, looked.clone());
        let stop = shutdown.clone();
        tasks.start("watch of a service", async move {
            let _ = stop.run_until_cancelled(watch).await;
        });
        view
    });
    let health = sources.health();
    let live = Live::new(sources, views.into(), looked);
    let router = page::router(services, live, shutdown.clone()).merge(health.router());
    server::announce(&listener, "the page");
    tasks.beside(server::serve(listener, router, shutdown)).await
}

/// Every statement of the page is a SELECT: a user that may do no more is enough.
fn open(url: &str) -> anyhow::Result<DatabaseConnection> {
    let pool = PoolSettings { application_name: "page".to_owned(), max_connections: 2 };
    Ok(database::connect(url, &pool)?)
}
