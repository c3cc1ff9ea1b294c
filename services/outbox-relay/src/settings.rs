use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use outbox::{
    Backoff, Coordination, DeadLetterPolicy, RelayOptions, RetentionMode, RetentionOptions,
};
use service_kit::settings::{
    AdminSettings, BrokerSettings, DatabaseSettings, LifeSettings, LogSettings, RetentionSettings,
    at_least, duration, loopback,
};

use crate::operate::Operation;

/// The port unless told otherwise.
pub(crate) const PORT: u16 = 8082;

/// A command line of the relay.
pub type Invocation = service_kit::invocation::Invocation<Settings, Operation>;

/// Settings of the relay.
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
    pub relay: RelaySettings,

    #[command(flatten)]
    pub retention: OutboxRetention,
    #[command(flatten)]
    pub log: LogSettings,
    #[command(flatten)]
    pub life: LifeSettings,
}

/// How long sent messages stay, and what becomes of them then.
#[derive(Debug, Clone, Args)]
pub struct OutboxRetention {
    #[command(flatten)]
    #[allow(missing_docs, reason = "the group documents itself")]
    pub times: RetentionSettings,

    /// What becomes of a sent message after OUTBOX_RETENTION: delete, or archive (to outbox_archives)
    #[arg(long, env, default_value = "delete")]
    pub outbox_retention_mode: RetentionMode,
}

impl OutboxRetention {
    /// How it cleans up.
    pub(crate) fn options(&self, owner: String) -> RetentionOptions {
        RetentionOptions {
            owner,
            retention: self.times.outbox(),
            mode: self.outbox_retention_mode,
            window: self.times.window(),
            ..RetentionOptions::default()
        }
    }
}

/// How it relays.
#[derive(Debug, Clone, Args)]
pub struct RelaySettings {
    /// The app_id of the messages: the service whose outbox this is
    #[arg(long, env, default_value = "once-shop", value_parser = app_id)]
    pub relay_app_id: String,

    /// Rows in one claim, 1 to 10000
    #[arg(long, env, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub relay_batch_size: u32,

    /// Batches under way at once, 1 to 16: the next is claimed while the last is being confirmed
    #[arg(long, env, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub relay_batches_in_flight: u32,

    /// How often to look when no hint arrives
    #[arg(long, env, default_value = "1s", value_parser = at_least::<10>)]
    pub relay_poll_interval: Duration,

    /// How long a claim lasts: when a relay dies, its rows wait this long for another one
    #[arg(long, env, default_value = "10s", value_parser = at_least::<500>)]
    pub relay_lease: Duration,

    /// Failures of its own (not of the broker) after which a message is dead
    #[arg(long, env, default_value_t = 3)]
    pub relay_max_retries: u32,

    /// The wait between those: exponential, linear, or none (dead at once)
    #[arg(long, env, default_value = "exponential")]
    pub relay_backoff: Backoff,

    /// The unit of that wait
    #[arg(long, env, default_value = "1s", value_parser = duration)]
    pub relay_backoff_base: Duration,

    /// shared (any number of relays work, order for each aggregate), or leader (one works, total order)
    #[arg(long, env, default_value = "shared")]
    pub relay_coordination: Coordination,

    /// After a dead message the rest of its aggregate has to wait, or may skip it: wait, skip
    #[arg(long, env, default_value = "wait")]
    pub dead_letter_policy: DeadLetterPolicy,

    /// When to look again whether an unroutable message has found its queue
    #[arg(long, env, default_value = "5s", value_parser = at_least::<10>)]
    pub relay_unroutable_interval: Duration,
}

impl RelaySettings {
    /// The broker has half of a lease to answer: a healthy relay never loses its own rows.
    pub(crate) fn confirm_timeout(&self) -> Duration {
        self.relay_lease / 2
    }

    pub(crate) fn options(&self, owner: String) -> RelayOptions {
        RelayOptions {
            owner,
            app_id: self.relay_app_id.clone(),
            batch_size: self.relay_batch_size,
            batches_in_flight: self.relay_batches_in_flight,
            poll_interval: self.relay_poll_interval,
            lease: self.relay_lease,
            max_retries: self.relay_max_retries,
            backoff: self.relay_backoff,
            backoff_base: self.relay_backoff_base,
            coordination: self.relay_coordination,
            dead_letters: self.dead_letter_policy,
            unroutable_interval: self.relay_unroutable_interval,
            ..RelayOptions::default()
        }
    }
}

/// AMQP's limit for a name. A longer one would make every message too large to be sent.
fn app_id(text: &str) -> Result<String, String> {
    match text.len() {
        1..=255 => Ok(text.to_owned()),
        _ => Err("expected 1 to 255 bytes".to_owned()),
    }
}
