//! The page for services that run elsewhere: in containers, on other machines. It starts nothing,
//! keeps nothing and changes nothing but by the services' own HTTP calls.

mod settings;
mod watch;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use database::PoolSettings;
use sea_orm::DatabaseConnection;
use service_kit::tasks::Tasks;
use service_kit::{program, server, telemetry};
use tokio::sync::Notify;
use tower_http::compression::CompressionLayer;

pub use settings::{Invocation, PageSettings};

use crate::broker::Broker;
use crate::guard::{Hosts, known_host, same_origin};
use crate::live::Live;
use crate::page::with_policy;
use crate::process_view::{ProcessView, State};
use crate::services::Services;
use crate::snapshot::Sources;
use crate::trouble::{self, Processes, Trouble};

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
        Broker::new(&settings.broker()?, settings.switch())?,
    );
    let listener = server::bind(settings.http_addr).await?;

    let services = Services::new(settings.places(), settings.admin_token()?.as_deref())?;
    let looked = Arc::new(Notify::new());
    let mut tasks = Tasks::new(shutdown.clone());
    let views = settings.processes().map(|(id, name, url)| {
        let seen = ProcessView {
            id,
            name,
            url: url.to_string(),
            state: State::Unknown,
            reason: None,
            child: None,
            can: vec![],
            command: settings.freeze_command(id),
        };
        let (watch, view) = watch::of(seen, url, services.clone(), looked.clone());
        let stop = shutdown.clone();
        tasks.start("watch of a service", async move {
            let _ = stop.run_until_cancelled(watch).await;
        });
        view
    });
    let (health, broker) = (sources.health(), sources.broker());
    let live = Live::new(sources, views.into(), looked);
    let hosts = Hosts::new(&settings.page_hosts);
    let mut router = crate::page::router(services.clone(), live, hosts.clone(), shutdown.clone());
    #[cfg(feature = "lab")]
    {
        let lab = crate::lab::router(crate::lab::lab()?, shutdown.clone());
        router = router.merge(lab.layer(from_fn_with_state(hosts.clone(), known_host)));
    }
    if cfg!(feature = "lab") && services.has_token() {
        let trouble = Trouble { processes: Processes::Elsewhere, broker, services };
        router =
            router.merge(trouble::router(trouble).layer(from_fn_with_state(hosts, known_host)));
    }
    let router = router.merge(health.router()).layer(from_fn(same_origin));
    let router = router.layer(map_response(with_policy)).layer(CompressionLayer::new());
    server::announce(&listener, "the page");
    tasks.beside(server::serve(listener, router, shutdown)).await
}

/// Every statement of the page is a SELECT: a user that may do no more is enough.
fn open(url: &str) -> anyhow::Result<DatabaseConnection> {
    let pool = PoolSettings { application_name: "page".to_owned(), max_connections: 2 };
    Ok(database::connect(url, &pool)?)
}
