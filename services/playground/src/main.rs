//! `cargo run`: the whole shop. The same binary is also each of the services that it starts.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use service_kit::program;

/// Runs the whole shop: two services, two relays, a page that shows their tables
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Program {
    #[command(subcommand)]
    part: Option<Part>,
    #[command(flatten)]
    shop: playground::Settings,
}

/// One process of the shop
#[derive(Debug, Subcommand)]
enum Part {
    /// Takes orders
    OrderService(order_service::Invocation),
    /// Reserves stock
    InventoryService(inventory_service::Invocation),
    /// Moves an outbox to the broker
    OutboxRelay(outbox_relay::Invocation),
    /// Creates or updates the tables of one database
    Migrate(migrations::MigrateSettings),
    /// Serves the page alone, for services that run elsewhere
    Page(playground::PageInvocation),
    /// Makes failures happen, and says what came of it
    #[cfg(feature = "lab")]
    #[command(subcommand)]
    Lab(playground::LabCommand),
    /// Writes the page with all recorded experiments into a folder, for any web server
    #[cfg(feature = "lab")]
    Export(playground::Export),
    /// One process of an experiment
    #[cfg(feature = "lab")]
    #[command(subcommand, hide = true)]
    Experiment(playground::ExperimentProgram),
    /// Asks whether the shop that runs by the same ports serves its page
    Healthcheck(playground::Healthcheck),
}

fn main() -> ExitCode {
    let Program { part, shop } = program::settings();
    match part {
        None => program::run(playground::run(shop)),
        Some(Part::OrderService(invocation)) => invocation.run(order_service::run),
        Some(Part::InventoryService(invocation)) => invocation.run(inventory_service::run),
        Some(Part::OutboxRelay(invocation)) => outbox_relay::run(invocation),
        Some(Part::Migrate(settings)) => program::run(migrations::run(settings)),
        Some(Part::Page(invocation)) => playground::run_page(invocation),
        #[cfg(feature = "lab")]
        Some(Part::Lab(command)) => command.run(),
        #[cfg(feature = "lab")]
        Some(Part::Experiment(program)) => program.run(),
        #[cfg(feature = "lab")]
        Some(Part::Export(export)) => export.run(),
        Some(Part::Healthcheck(check)) => check.run(),
    }
}
