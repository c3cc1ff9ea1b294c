use std::path::PathBuf;

use anyhow::Context;
use database::PoolSettings;
use sea_orm::{ConnectionTrait, DatabaseConnection};

use crate::Servers;

/// The two ways of running. Every behaviour test runs on both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backing {
    /// SQLite, and the queue in SQL on SQLite.
    Embedded,
    /// PostgreSQL and RabbitMQ.
    Servers,
}

/// Databases and a broker that nobody else uses.
#[derive(Debug)]
pub struct Storage {
    /// Which kind they are.
    pub backing: Backing,
    folder: tempfile::TempDir,
    /// Makes the names in shared servers unique.
    suffix: String,
}

impl Storage {
    /// Prepares a place for databases and a broker.
    ///
    /// # Panics
    /// No temporary folder can be made.
    #[must_use]
    pub fn new(backing: Backing) -> Self {
        Self {
            backing,
            folder: tempfile::tempdir().expect("a temporary folder"),
            suffix: uuid::Uuid::now_v7().simple().to_string(),
        }
    }

    /// The folder of the SQLite files, and of whatever else the test writes.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// Creates an empty database and returns its URL.
    ///
    /// # Errors
    /// The server is not there.
    pub async fn create_database(&self, name: &str) -> anyhow::Result<String> {
        match self.backing {
            Backing::Embedded => Ok(self.sqlite_url(name)),
            Backing::Servers => {
                let server = Servers::from_environment()?.postgres;
                let admin = connect(&format!("{server}/postgres"))?;
                let name = format!("{name}_{}", self.suffix);
                admin.execute_unprepared(&format!("CREATE DATABASE {name}")).await?;
                Ok(format!("{server}/{name}"))
            }
        }
    }

    /// Creates an empty broker (a virtual host of its own, or a file) and returns its URL.
    ///
    /// # Errors
    /// The server is not there.
    pub async fn create_broker(&self) -> anyhow::Result<String> {
        match self.backing {
            Backing::Embedded => Ok(self.sqlite_url("broker")),
            Backing::Servers => {
                let servers = Servers::from_environment()?;
                let vhost = format!("test-{}", self.suffix);
                let answer = reqwest::Client::new()
                    .put(format!("{}/api/vhosts/{vhost}", servers.rabbitmq_api))
                    .json(&serde_json::json!({}))
                    .send()
                    .await?;
                anyhow::ensure!(answer.status().is_success(), "creating a vhost: {answer:?}");
                Ok(format!("{}/{vhost}", servers.rabbitmq))
            }
        }
    }

    /// Creates a user of the broker that has exactly these rights (regular expressions of what it may
    /// configure, write and read), and returns the broker's URL for it, without the password.
    ///
    /// # Errors
    /// The server is not there, or the broker is none with users.
    pub async fn create_broker_user(
        &self,
        broker_url: &str,
        name: &str,
        password: &str,
        [configure, write, read]: &[String; 3],
    ) -> anyhow::Result<String> {
        let api = Servers::from_environment()?.rabbitmq_api;
        let (scheme, rest) = broker_url.split_once("://").context("a URL")?;
        let (_, address) = rest.split_once('@').context("a broker with users")?;
        let (_, vhost) = address.split_once('/').context("a virtual host")?;
        // All virtual hosts share their users.
        let name = format!("{name}-{}", self.suffix);
        let rights = serde_json::json!({"configure": configure, "write": write, "read": read});
        for (path, body) in [
            (format!("users/{name}"), serde_json::json!({"password": password, "tags": ""})),
            (format!("permissions/{vhost}/{name}"), rights),
        ] {
            let url = format!("{api}/api/{path}");
            let answer = reqwest::Client::new().put(url).json(&body).send().await?;
            anyhow::ensure!(answer.status().is_success(), "{path}: {answer:?}");
        }
        Ok(format!("{scheme}://{name}@{address}"))
    }

    fn sqlite_url(&self, name: &str) -> String {
        format!("sqlite://{}", self.folder.path().join(format!("{name}.db")).display())
    }
}

/// A small pool for a test's own questions.
///
/// # Errors
/// The URL can't be used.
pub fn connect(url: &str) -> anyhow::Result<DatabaseConnection> {
    let settings = PoolSettings { application_name: "test".to_owned(), max_connections: 4 };
    database::connect(url, &settings).context("test database")
}
