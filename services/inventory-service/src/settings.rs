use std::net::SocketAddr;

use clap::Args;
use service_kit::healthcheck::OnlyHealthcheck;
use service_kit::settings::{
    AdminSettings, BrokerSettings, ConsumerSettings, DatabaseSettings, LifeSettings, LogSettings,
    RetentionSettings, loopback,
};

/// The port unless told otherwise.
const PORT: u16 = 8081;

/// A command line of the inventory service.
pub type Invocation = service_kit::invocation::Invocation<Settings, OnlyHealthcheck<PORT>>;

/// Settings of the inventory service.
#[derive(Debug, Clone, Args)]
#[allow(missing_docs, reason = "the flattened groups document themselves")]
pub struct Settings {
    /// The address for HTTP
    #[arg(long, env, default_value_t = loopback(PORT))]
    pub http_addr: SocketAddr,

    #[command(flatten)]
    pub admin: AdminSettings,
    #[command(flatten)]
    pub database: DatabaseSettings,
    #[command(flatten)]
    pub broker: BrokerSettings,
    #[command(flatten)]
    pub consumer: ConsumerSettings,
    #[command(flatten)]
    pub retention: RetentionSettings,
    #[command(flatten)]
    pub log: LogSettings,
    #[command(flatten)]
    pub life: LifeSettings,
}
