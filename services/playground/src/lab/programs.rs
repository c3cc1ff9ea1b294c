use std::process::ExitCode;

use clap::Subcommand;

/// One process of an experiment; the lab starts it
#[derive(Debug, Subcommand)]
pub enum ExperimentProgram {
    /// Takes orders
    OrderService(order_service::Invocation),
    /// Reserves stock
    InventoryService(inventory_service::Invocation),
    /// Moves an outbox to the broker
    OutboxRelay(Box<outbox_relay::Settings>),
}

impl ExperimentProgram {
    /// Runs it until it is told to stop.
    #[must_use]
    pub fn run(self) -> ExitCode {
        match self {
            Self::OrderService(invocation) => invocation.run(order_service::lab::run),
            Self::InventoryService(invocation) => invocation.run(inventory_service::lab::run),
            Self::OutboxRelay(settings) => {
                service_kit::program::run(outbox_relay::lab::run(*settings))
            }
        }
    }
}
