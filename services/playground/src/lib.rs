//! The whole shop with one command.
//!
//! `playground` starts the services and relays as child processes of the same binary, keeps them
//! running, and serves a page that shows their tables live. With nothing else installed it runs on
//! SQLite; with URLs of servers it runs on those. `playground page` is the page alone.

mod broker;
mod data_folder;
mod duplicates;
mod elsewhere;
mod guard;
mod guide;
#[cfg(feature = "lab")]
mod lab;
mod live;
mod page;
mod process_view;
mod service_url;
mod services;
mod settings;
mod shop;
mod snapshot;
mod supervisor;
mod trouble;

use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use database::PoolSettings;
use service_kit::settings::loopback;
use service_kit::{program, server, telemetry};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tower_http::compression::CompressionLayer;

#[cfg(feature = "lab")]
pub use crate::lab::{ExperimentProgram, Export, LabCommand};
use broker::{Broker, Switch};
use data_folder::DataFolder;
pub use elsewhere::{Invocation as PageInvocation, PageSettings, page as run_page};
use guard::{Hosts, known_host, same_origin};
use live::Live;
use services::Services;
use settings::ChildSettings;
pub use settings::{Healthcheck, Ports, Settings};
use shop::Shop;
use snapshot::Sources;
use supervisor::Supervisor;
use trouble::{Processes, Trouble};

/// Runs the shop until it is told to stop.
///
/// # Errors
/// The data folder or a port can't be used, or a database can't be prepared.
pub async fn run(settings: Settings) -> anyhow::Result<()> {
    // What the children will read: refused here, in one line, and not by each of them.
    let _: ChildSettings = program::environment();
    telemetry::start(&settings.log, "playground")?;
    let shutdown = program::shutdown_token(&settings.life);
    let folder = DataFolder::open(&settings.data, settings.reset)?;
    let shop = Shop::new(&settings, &folder)?;
    shop.check_ports()?;
    let listener = server::bind(loopback(shop.page_port())).await?;

    let tables = tokio::select! {
        () = shutdown.cancelled() => return Ok(()),
        sources = prepare(&shop) => sources?,
    };
    let supervisor = Supervisor::start(shop.parts(), &shutdown)?;
    let router = page(&shop, tables, &supervisor, &shutdown)?;
    let page = tokio::spawn(server::serve(listener, router, shutdown.clone()));
    welcome(&shop, &folder, &shutdown).await;

    shutdown.cancelled().await;
    println!("\nStopping …");
    supervisor.stopped().await?;
    page.await?.context("page")?;
    println!("Stopped. The data stays in {}.", folder.path().display());
    Ok(())
}

/// The page and everything that it can do. It listens on this machine, so it is called by this
/// machine's names and no others.
fn page(
    shop: &Shop,
    tables: Sources,
    supervisor: &Supervisor,
    shutdown: &CancellationToken,
) -> anyhow::Result<Router> {
    let services = Services::new(shop.places(), Some(shop.admin_token()))?;
    let looked = Arc::new(Notify::new());
    let (counting, duplicates) = duplicates::count(services.clone(), looked.clone());
    let stop = shutdown.clone();
    tokio::spawn(async move { stop.run_until_cancelled(counting).await });

    let (health, broker) = (tables.health(), tables.broker());
    let live = Live::new(tables.with_duplicates(duplicates), supervisor.views(), looked);
    let hosts = Hosts::default();
    let mut router = page::router(services.clone(), live, hosts.clone(), shutdown.clone());
    if cfg!(feature = "lab") {
        let processes = Processes::Children(supervisor.controls());
        router = router.merge(trouble::router(Trouble { processes, broker, services }));
    }
    #[cfg(feature = "lab")]
    let router = router.merge(lab::router(lab::lab()?, shutdown.clone()));
    let router = router.merge(health.router());
    let router = router.layer(from_fn(same_origin)).layer(from_fn_with_state(hosts, known_host));
    Ok(router.layer(map_response(page::with_policy)).layer(CompressionLayer::new()))
}

/// Creates or updates the tables of both databases. Waits for servers that are not there yet.
async fn prepare(shop: &Shop) -> anyhow::Result<Sources> {
    let orders = open(&shop.orders_database, migrations::Database::Orders)
        .await
        .context("orders database")?;
    let inventory = open(&shop.inventory_database, migrations::Database::Inventory)
        .await
        .context("inventory database")?;
    let switch = if cfg!(feature = "lab") { Switch::Page } else { Switch::Nobody };
    Ok(Sources::new(orders, inventory, Broker::new(&shop.broker, switch)?))
}

async fn open(
    url: &str,
    which: migrations::Database,
) -> anyhow::Result<sea_orm::DatabaseConnection> {
    let pool = PoolSettings { application_name: "playground".to_owned(), max_connections: 2 };
    let db = database::connect(url, &pool)?;
    migrations::wait_for(&db, None).await?;
    migrations::up(&db, which).await?;
    Ok(db)
}

/// Tells a newcomer what to do next, once it would work.
async fn welcome(shop: &Shop, folder: &DataFolder, shutdown: &CancellationToken) {
    let client = reqwest::Client::new();
    for part in shop.parts() {
        // Orders are taken without a broker, which somebody may have stopped: no relay is ready then.
        let enough = if part.subcommand == "outbox-relay" { "live" } else { "ready" };
        let ready = format!("{}/health/{enough}", part.url());
        while !shutdown.is_cancelled() {
            match client.get(&ready).send().await {
                Ok(answer) if answer.status().is_success() => break,
                _ => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
            }
        }
    }
    if shutdown.is_cancelled() {
        return;
    }
    let orders = shop.orders_url();
    println!("\nOnce Shop is open.\n");
    println!("  {:<18} http://127.0.0.1:{}", "page", shop.page_port());
    for part in shop.parts() {
        println!("  {:<18} {}", part.name, part.url());
    }
    println!("  {:<18} {}", "data", folder.path().display());
    println!("  {:<18} {}", "admin token", shop.admin_token());
    println!(
        "\nPlace an order:\n\n  curl -i {orders}/orders -H 'Content-Type: application/json' \\\n    -d '{{\"customerId\": \"c-42\", \"lines\": [{{\"sku\": \"KEYBOARD\", \"quantity\": 2}}]}}'\n"
    );
    println!("Stop with Ctrl-C.\n");
}
