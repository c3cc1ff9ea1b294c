//! The broker as the page sees it, and its switch where there is one.

use std::sync::Arc;

use anyhow::Context;
use database::{Failure, PoolSettings};
use sea_orm::DatabaseConnection;
use serde::Serialize;
#[cfg(feature = "lab")]
use transport::sql::switch;
use transport::{QueueDepth, Transport, TransportError, TransportOptions};

use crate::snapshot::{Table, queue_messages};

/// Reads the broker, and stops and starts it.
#[derive(Clone)]
pub(crate) struct Broker {
    transport: Arc<dyn Transport>,
    /// The tables of a broker in SQL.
    tables: Option<DatabaseConnection>,
    switch: Switch,
}

/// How people take the broker away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Switch {
    /// By the page, which stops a broker in SQL.
    Page,
    /// By commands of Docker Compose.
    Compose,
    /// Not at all, as far as the page knows.
    Nobody,
}

/// What can be done to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum BrokerControl {
    Stop,
    Start,
}

/// How the broker is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct BrokerView {
    state: BrokerState,
    /// What the page can do to it here.
    can: Vec<BrokerControl>,
    /// What to type to stop it, or to start it when it is stopped, where the page can't.
    command: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum BrokerState {
    Running,
    Stopped,
}

/// What one look at the broker found.
pub(crate) struct BrokerRead {
    pub(crate) depths: Result<Vec<QueueDepth>, TransportError>,
    /// Of a broker in SQL.
    pub(crate) messages: Option<Result<Table, String>>,
    pub(crate) view: BrokerView,
}

/// Why it was not stopped or started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SwitchError {
    #[error("the page can't stop or start this broker{}", command.map(|it| format!("; type: {it}")).unwrap_or_default())]
    NotHere { command: Option<&'static str> },
    #[error("the broker is {0} already")]
    Already(&'static str),
    #[error("{}", .0.one_line())]
    Failed(#[from] TransportError),
}

impl Broker {
    /// `switch` is [`Switch::Page`] for a broker in SQL only.
    pub(crate) fn new(url: &str, switch: Switch) -> anyhow::Result<Self> {
        let options = TransportOptions {
            client_name: "playground".to_owned(),
            ..TransportOptions::default()
        };
        let transport =
            transport::connect(url, contracts::topology(), options).context("BROKER_URL")?;
        let pool = PoolSettings { application_name: "playground".to_owned(), max_connections: 2 };
        let tables = match url.starts_with("amqp") {
            true => None,
            false => Some(database::connect(url, &pool).context("BROKER_URL")?),
        };
        let switch = match (switch, &tables) {
            (Switch::Page, None) => Switch::Nobody,
            (switch, _) => switch,
        };
        Ok(Self { transport, tables, switch })
    }

    pub(crate) async fn read(&self) -> BrokerRead {
        let depths = self.transport.depths().await;
        let (mut messages, mut stopped) = (None, depths.is_err());
        if let Some(db) = &self.tables
            && !stopped
        {
            messages = match queue_messages(db).await {
                Ok(table) => Some(Ok(table)),
                // No session was opened yet: there are no queues.
                Err(error) if Failure::of(&error) == Failure::SchemaMissing => None,
                Err(error) => Some(Err(error.to_string())),
            };
            stopped = switch::is_stopped(db).await.unwrap_or(true);
        }
        BrokerRead { depths, messages, view: self.view(stopped) }
    }

    fn view(&self, stopped: bool) -> BrokerView {
        BrokerView {
            state: if stopped { BrokerState::Stopped } else { BrokerState::Running },
            can: match self.switch {
                Switch::Page => vec![BrokerControl::Stop, BrokerControl::Start],
                Switch::Compose | Switch::Nobody => vec![],
            },
            command: self.command(if stopped { BrokerControl::Start } else { BrokerControl::Stop }),
        }
    }

    fn command(&self, control: BrokerControl) -> Option<&'static str> {
        (self.switch == Switch::Compose).then_some(match control {
            BrokerControl::Stop => "docker compose stop rabbitmq",
            BrokerControl::Start => "docker compose start rabbitmq",
        })
    }

    /// Stops or starts it.
    pub(crate) async fn switch(&self, control: BrokerControl) -> Result<(), SwitchError> {
        let Some(db) = self.tables.as_ref().filter(|_| self.switch == Switch::Page) else {
            return Err(SwitchError::NotHere { command: self.command(control) });
        };
        match (control, switch::is_stopped(db).await?) {
            (BrokerControl::Stop, true) => Err(SwitchError::Already("stopped")),
            (BrokerControl::Start, false) => Err(SwitchError::Already("running")),
            (BrokerControl::Stop, false) => Ok(switch::stop(db).await?),
            (BrokerControl::Start, true) => Ok(switch::start(db).await?),
        }
    }
}

/// This build can't stop a broker, and so never finds one that it has stopped.
#[cfg(not(feature = "lab"))]
mod switch {
    use sea_orm::DatabaseConnection;
    use transport::TransportError;

    pub(super) async fn is_stopped(_: &DatabaseConnection) -> Result<bool, TransportError> {
        Ok(false)
    }

    pub(super) async fn stop(_: &DatabaseConnection) -> Result<(), TransportError> {
        Err(TransportError::SessionLost { reason: "this build has no lab".to_owned() })
    }

    pub(super) use stop as start;
}
