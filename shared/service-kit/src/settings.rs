//! Settings that several programs share. Each is an environment variable and a flag of the same
//! name; the text beside it is what `--help` shows.

mod consumer;
mod secret;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, FromArgMatches};
pub use consumer::ConsumerSettings;
use database::{DayWindow, PoolSettings};
use sea_orm::DatabaseConnection;
pub use secret::{InvalidSecret, Setting, either, with_password};
use transport::{Declare, Topology, Transport, TransportOptions};

use crate::admin::AdminToken;

/// The database that this process uses.
#[derive(Debug, Clone, Args)]
pub struct DatabaseSettings {
    /// postgres://user:password@host/database, or sqlite://path
    #[arg(long, env, hide_env_values = true)]
    pub database_url: String,

    /// A file that holds the password, where DATABASE_URL has none
    #[arg(long, env)]
    pub database_password_file: Option<PathBuf>,

    /// PostgreSQL: connections at most, for each of the process's pools
    #[arg(long, env, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub database_connections: u32,
}

impl DatabaseSettings {
    /// A pool for the process called `name`. Connects to nothing yet.
    ///
    /// # Errors
    /// The URL can't be used, or the file with its password.
    pub fn pool(&self, name: &str) -> anyhow::Result<DatabaseConnection> {
        let settings = PoolSettings {
            application_name: name.to_owned(),
            max_connections: self.database_connections,
        };
        let url = with_password(
            ("DATABASE_URL", &self.database_url),
            ("DATABASE_PASSWORD_FILE", self.database_password_file.as_deref()),
        )?;
        database::connect(&url, &settings).context("DATABASE_URL")
    }
}

/// The broker that this process uses.
#[derive(Debug, Clone, Args)]
pub struct BrokerSettings {
    /// amqp://user:password@host/vhost (nodes of a cluster: host,host:port), or sqlite://path or
    /// postgres://… for the queue in SQL
    #[arg(long, env, hide_env_values = true)]
    pub broker_url: String,

    /// A file that holds the password, where BROKER_URL has none
    #[arg(long, env)]
    pub broker_password_file: Option<PathBuf>,

    /// RabbitMQ: what a session declares: all, or own (for users with the least rights: a consumer its
    /// own queue, a publisher nothing)
    #[arg(long, env, default_value = "all")]
    pub broker_declare: Declare,

    /// Queue in SQL: when a consumer dies, its messages wait this long for another one
    #[arg(long, env, default_value = "5s", value_parser = at_least::<100>)]
    pub broker_visibility_timeout: Duration,
}

impl BrokerSettings {
    /// The transport's options for the process called `name`.
    #[must_use]
    pub fn options(&self, name: &str) -> TransportOptions {
        TransportOptions {
            client_name: name.to_owned(),
            declare: self.broker_declare,
            visibility_timeout: self.broker_visibility_timeout,
            ..TransportOptions::default()
        }
    }

    /// The transport. Connects to nothing yet.
    ///
    /// # Errors
    /// The URL can't be used, or the file with its password.
    pub fn transport(
        &self,
        topology: Topology,
        options: TransportOptions,
    ) -> anyhow::Result<Arc<dyn Transport>> {
        let url = with_password(
            ("BROKER_URL", &self.broker_url),
            ("BROKER_PASSWORD_FILE", self.broker_password_file.as_deref()),
        )?;
        transport::connect(&url, topology, options).context("BROKER_URL")
    }
}

/// Who may make administrative calls.
#[derive(Debug, Clone, Args)]
pub struct AdminSettings {
    /// The token for administrative calls; without it they are off
    #[arg(long, env, hide_env_values = true)]
    pub admin_token: Option<String>,

    /// A file that holds the token, where ADMIN_TOKEN is not set
    #[arg(long, env)]
    pub admin_token_file: Option<PathBuf>,
}

impl AdminSettings {
    /// The token, if there is one.
    ///
    /// # Errors
    /// The file can't be used, or there are both.
    pub fn token(&self) -> Result<AdminToken, InvalidSecret> {
        let token = ("ADMIN_TOKEN", self.admin_token.as_deref());
        let file = ("ADMIN_TOKEN_FILE", self.admin_token_file.as_deref());
        either(token, file).map(AdminToken::new)
    }
}

/// How long messages are remembered. Every process of a system is told the same: what one of them
/// may still send, the others must still know.
#[derive(Debug, Clone, Args)]
struct Retention {
    /// How long a sent message stays in the outbox, and so can be sent again
    #[arg(long, env, default_value = "7d", value_parser = duration)]
    outbox_retention: Duration,

    /// How long the inbox remembers a message, at least OUTBOX_RETENTION
    #[arg(long, env, default_value = "14d", value_parser = duration)]
    inbox_retention: Duration,

    /// When to clean up: always, or times of day in UTC such as 02:00-05:00
    #[arg(long, env, default_value_t = DayWindow::Always)]
    cleanup_window: DayWindow,
}

/// How long messages are remembered. There is no way to get one that forgets too soon.
#[derive(Debug, Clone)]
pub struct RetentionSettings(Retention);

impl RetentionSettings {
    /// How long a sent message stays in the outbox.
    #[must_use]
    pub fn outbox(&self) -> Duration {
        self.0.outbox_retention
    }

    /// How long the inbox remembers a message.
    #[must_use]
    pub fn inbox(&self) -> Duration {
        self.0.inbox_retention
    }

    /// When to clean up.
    #[must_use]
    pub fn window(&self) -> DayWindow {
        self.0.cleanup_window
    }

    /// The replay horizon: a message that is still in an outbox may come again, and an inbox that
    /// has forgotten it would let it have its effect a second time.
    fn checked(found: Retention) -> Result<Self, clap::Error> {
        if found.inbox_retention >= found.outbox_retention {
            return Ok(Self(found));
        }
        let text = format!(
            "INBOX_RETENTION ({}) is shorter than OUTBOX_RETENTION ({}): a message that is sent \
             again would have its effect twice; make it at least as long\n",
            humantime::format_duration(found.inbox_retention),
            humantime::format_duration(found.outbox_retention),
        );
        Err(clap::Error::raw(ErrorKind::ValueValidation, text))
    }
}

impl FromArgMatches for RetentionSettings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Self::checked(Retention::from_arg_matches(matches)?)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for RetentionSettings {
    fn augment_args(command: Command) -> Command {
        Retention::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Retention::augment_args_for_update(command)
    }
}

/// How logs are written.
#[derive(Debug, Clone, Args)]
pub struct LogSettings {
    /// Which log lines to write: error, warn, info, debug, trace, or target=level,…
    #[arg(long, env, default_value = "info,lapin=off,sea_orm_migration=warn,sqlx=off")]
    pub rust_log: String,

    /// pretty (for people) or json
    #[arg(long, env, default_value = "pretty", value_parser = ["pretty", "json"])]
    pub log_format: String,
}

/// How the process is stopped.
#[derive(Debug, Clone, Args)]
pub struct LifeSettings {
    /// Stop when standard input ends: a parent that dies takes this process with it
    #[arg(long, env, hide = true)]
    pub stop_with_stdin: bool,
}

/// The form of a listening address on loopback.
#[must_use]
pub fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// Reads durations such as `500ms`, `10s` or `7d`.
///
/// # Errors
/// The text is no duration.
pub fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(duration) if duration <= LONGEST => Ok(duration),
        Ok(_) => Err("expected at most 100 years".to_owned()),
        Err(_) => Err("expected a duration such as 500ms, 10s or 7d".to_owned()),
    }
}

/// Longer ones leave the calendars of the databases.
const LONGEST: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);

/// Reads a duration of at least so many milliseconds.
///
/// # Errors
/// The text is no duration, or a shorter one.
pub fn at_least<const MILLIS: u64>(text: &str) -> Result<Duration, String> {
    let found = duration(text)?;
    let long_enough = found >= Duration::from_millis(MILLIS);
    long_enough.then_some(found).ok_or_else(|| format!("expected at least {MILLIS}ms"))
}
