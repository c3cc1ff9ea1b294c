use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use service_kit::healthcheck::OnlyHealthcheck;
use service_kit::settings::{
    InvalidSecret, LifeSettings, LogSettings, either, loopback, with_password,
};

use crate::broker::Switch;
use crate::service_url::ServiceUrl;
use crate::services::Places;

/// The port unless told otherwise.
const PORT: u16 = 8090;

/// A command line of `playground page`.
pub type Invocation = service_kit::invocation::Invocation<PageSettings, OnlyHealthcheck<PORT>>;

/// Settings of the page for services that run elsewhere.
#[derive(Debug, Clone, Args)]
#[allow(missing_docs, reason = "the flattened groups document themselves")]
pub struct PageSettings {
    /// The address for HTTP
    #[arg(long, env, default_value_t = loopback(PORT))]
    pub(crate) http_addr: SocketAddr,

    /// The order service: http://host:port
    #[arg(long, env, default_value_t = ServiceUrl::local(8080))]
    pub(crate) orders_url: ServiceUrl,

    /// The inventory service: http://host:port
    #[arg(long, env, default_value_t = ServiceUrl::local(8081))]
    pub(crate) inventory_url: ServiceUrl,

    /// The relay of the order service: http://host:port
    #[arg(long, env, default_value_t = ServiceUrl::local(8082))]
    pub(crate) orders_relay_url: ServiceUrl,

    /// The relay of the inventory service: http://host:port
    #[arg(long, env, default_value_t = ServiceUrl::local(8083))]
    pub(crate) inventory_relay_url: ServiceUrl,

    /// Database of the order service, by a user that may SELECT
    #[arg(long, env, hide_env_values = true)]
    orders_database_url: String,

    /// A file that holds the password, where ORDERS_DATABASE_URL has none
    #[arg(long, env)]
    orders_database_password_file: Option<PathBuf>,

    /// Database of the inventory service, by a user that may SELECT
    #[arg(long, env, hide_env_values = true)]
    inventory_database_url: String,

    /// A file that holds the password, where INVENTORY_DATABASE_URL has none
    #[arg(long, env)]
    inventory_database_password_file: Option<PathBuf>,

    /// Broker, by a user that needs no permission but to see the virtual host
    #[arg(long, env, hide_env_values = true)]
    broker_url: String,

    /// A file that holds the password, where BROKER_URL has none
    #[arg(long, env)]
    broker_password_file: Option<PathBuf>,

    /// The services' token for administrative calls: with it the page shows dead and parked messages,
    /// and kills processes that are built for it
    #[arg(long, env, hide_env_values = true)]
    admin_token: Option<String>,

    /// A file that holds the token, where ADMIN_TOKEN is not set
    #[arg(long, env)]
    admin_token_file: Option<PathBuf>,

    /// Names by which people call the page, with commas between them: calls that use the token take no
    /// others, but those of this machine
    #[arg(long, env, value_delimiter = ',')]
    pub(crate) page_hosts: Vec<String>,

    /// Whose commands the page shows for what it can't do itself: none, compose
    #[arg(long, env, default_value = "none")]
    page_commands: Commands,

    #[command(flatten)]
    pub(crate) log: LogSettings,
    #[command(flatten)]
    pub(crate) life: LifeSettings,
}

/// Who runs the processes: nobody whom the page knows, or Docker Compose by the file of this project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Commands {
    None,
    Compose,
}

impl PageSettings {
    /// The four processes: how calls name them, how people do, and where they are.
    pub(crate) fn processes(&self) -> [(&'static str, &'static str, ServiceUrl); 4] {
        [
            ("order-service", "order-service", self.orders_url.clone()),
            ("inventory-service", "inventory-service", self.inventory_url.clone()),
            ("orders-relay", "orders relay", self.orders_relay_url.clone()),
            ("inventory-relay", "inventory relay", self.inventory_relay_url.clone()),
        ]
    }

    pub(crate) fn places(&self) -> Places {
        Places {
            orders: self.orders_url.clone(),
            inventory: self.inventory_url.clone(),
            orders_relay: self.orders_relay_url.clone(),
            inventory_relay: self.inventory_relay_url.clone(),
        }
    }

    pub(crate) fn admin_token(&self) -> Result<Option<String>, InvalidSecret> {
        either(
            ("ADMIN_TOKEN", self.admin_token.as_deref()),
            ("ADMIN_TOKEN_FILE", self.admin_token_file.as_deref()),
        )
    }

    pub(crate) fn switch(&self) -> Switch {
        match self.page_commands {
            Commands::None => Switch::Nobody,
            Commands::Compose => Switch::Compose,
        }
    }

    /// What to type to freeze a process.
    pub(crate) fn freeze_command(&self, id: &str) -> Option<String> {
        match self.page_commands {
            Commands::None => None,
            Commands::Compose => Some(format!("docker compose pause {id}")),
        }
    }

    /// The URL of the order service's database, with its password.
    pub(crate) fn orders_database(&self) -> Result<String, InvalidSecret> {
        with_password(
            ("ORDERS_DATABASE_URL", &self.orders_database_url),
            ("ORDERS_DATABASE_PASSWORD_FILE", self.orders_database_password_file.as_deref()),
        )
    }

    /// The URL of the inventory service's database, with its password.
    pub(crate) fn inventory_database(&self) -> Result<String, InvalidSecret> {
        with_password(
            ("INVENTORY_DATABASE_URL", &self.inventory_database_url),
            ("INVENTORY_DATABASE_PASSWORD_FILE", self.inventory_database_password_file.as_deref()),
        )
    }

    /// The URL of the broker, with its password.
    pub(crate) fn broker(&self) -> Result<String, InvalidSecret> {
        with_password(
            ("BROKER_URL", &self.broker_url),
            ("BROKER_PASSWORD_FILE", self.broker_password_file.as_deref()),
        )
    }
}
