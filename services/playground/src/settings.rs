use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser};
use outbox_relay::RelaySettings;
use service_kit::healthcheck;
use service_kit::settings::{
    ConsumerSettings, LifeSettings, LogSettings, RetentionSettings, loopback,
};
use transport::Declare;

/// Settings of the whole shop.
#[derive(Debug, Clone, Args)]
pub struct Settings {
    /// The folder for databases and broker
    #[arg(long, env = "SHOP_DATA", default_value = "data")]
    pub data: PathBuf,

    /// Empty the data folder first
    #[arg(long)]
    pub reset: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub ports: Ports,

    /// Database of the order service, if not SQLite in the data folder
    #[arg(long, env, hide_env_values = true)]
    pub orders_database_url: Option<String>,

    /// A file that holds the password, where ORDERS_DATABASE_URL has none
    #[arg(long, env)]
    pub orders_database_password_file: Option<PathBuf>,

    /// Database of the inventory service, if not SQLite in the data folder
    #[arg(long, env, hide_env_values = true)]
    pub inventory_database_url: Option<String>,

    /// A file that holds the password, where INVENTORY_DATABASE_URL has none
    #[arg(long, env)]
    pub inventory_database_password_file: Option<PathBuf>,

    /// Broker, if not a queue in SQLite in the data folder
    #[arg(long, env, hide_env_values = true)]
    pub broker_url: Option<String>,

    /// A file that holds the password, where BROKER_URL has none
    #[arg(long, env)]
    pub broker_password_file: Option<PathBuf>,

    /// The token for administrative calls; dev, where there is no ADMIN_TOKEN_FILE either
    #[arg(long, env, hide_env_values = true)]
    pub admin_token: Option<String>,

    /// A file that holds the token, where ADMIN_TOKEN is not set
    #[arg(long, env)]
    pub admin_token_file: Option<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub log: LogSettings,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub life: LifeSettings,
}

/// Where the processes of the shop listen.
#[derive(Debug, Clone, Copy, Args)]
pub struct Ports {
    /// First port: orders N, inventory N+1, relays N+2 and N+3, page N+10
    #[arg(long, env = "SHOP_PORT_BASE", default_value_t = 8080, value_parser = clap::value_parser!(u16).range(1..=65_525))]
    pub port_base: u16,
}

impl Ports {
    pub(crate) fn page(self) -> u16 {
        self.port_base + 10
    }
}

/// Asks whether the shop that runs by the same ports serves its page
#[derive(Debug, Clone, Copy, Args)]
pub struct Healthcheck {
    #[command(flatten)]
    ports: Ports,
}

impl Healthcheck {
    /// Asks, prints the answer, and ends with 0 (ready) or 1.
    #[must_use]
    pub fn run(self) -> ExitCode {
        healthcheck::run(loopback(self.ports.page()))
    }
}

/// What the children read from the environment that they share.
#[derive(Debug, Parser)]
pub(crate) struct ChildSettings {
    #[command(flatten)]
    _relay: RelaySettings,
    #[arg(long, env, default_value = "all")]
    _broker_declare: Declare,
    #[command(flatten)]
    _consumer: ConsumerSettings,
    #[command(flatten)]
    _retention: RetentionSettings,
}
