use anyhow::Context;
use testcontainers_modules::postgres::Postgres;
use testcontainers_modules::rabbitmq::RabbitMq;
use testcontainers_modules::testcontainers::runners::AsyncRunner;
use testcontainers_modules::testcontainers::{ContainerAsync, ImageExt};

/// Tags are pinned here and in the compose file.
const POSTGRES_TAG: &str = "17";
const RABBITMQ_TAG: &str = "4-management";

const POSTGRES_VARIABLE: &str = "TEST_POSTGRES_URL";
const RABBITMQ_VARIABLE: &str = "TEST_RABBITMQ_URL";
const RABBITMQ_API_VARIABLE: &str = "TEST_RABBITMQ_API";

/// Where the servers of this test run are.
#[derive(Debug, Clone)]
pub struct Servers {
    /// `postgres://user:password@host:port`, no database.
    pub postgres: String,
    /// `amqp://user:password@host:port`, no virtual host.
    pub rabbitmq: String,
    /// `http://user:password@host:port`: RabbitMQ's management API.
    pub rabbitmq_api: String,
}

impl Servers {
    /// The servers that `with-servers` started.
    ///
    /// # Errors
    /// It did not: the tests were started in another way.
    pub fn from_environment() -> anyhow::Result<Self> {
        let variable = |name| {
            std::env::var(name).with_context(|| {
                format!(
                    "{name} is not set: run the tests by ./scripts/test, which starts the servers"
                )
            })
        };
        Ok(Self {
            postgres: variable(POSTGRES_VARIABLE)?,
            rabbitmq: variable(RABBITMQ_VARIABLE)?,
            rabbitmq_api: variable(RABBITMQ_API_VARIABLE)?,
        })
    }

    /// The variables that [`Self::from_environment`] reads.
    #[must_use]
    pub fn environment(&self) -> [(&'static str, &str); 3] {
        [
            (POSTGRES_VARIABLE, &self.postgres),
            (RABBITMQ_VARIABLE, &self.rabbitmq),
            (RABBITMQ_API_VARIABLE, &self.rabbitmq_api),
        ]
    }
}

/// Starts one container of each server. They are removed when the returned guards are dropped.
///
/// # Errors
/// Docker is not there, or an image is missing: `scripts/setup` provides both.
pub async fn start_servers()
-> anyhow::Result<(Servers, ContainerAsync<Postgres>, ContainerAsync<RabbitMq>)> {
    let postgres = Postgres::default()
        .with_tag(POSTGRES_TAG)
        // Many tests at once, each with several processes and pools.
        .with_cmd(["-c", "fsync=off", "-c", "max_connections=1000"]);
    let rabbitmq = RabbitMq::default().with_tag(RABBITMQ_TAG);
    let (postgres, rabbitmq) = tokio::try_join!(postgres.start(), rabbitmq.start())
        .context("starting containers (scripts/setup provides Docker and the images)")?;
    let servers = Servers {
        postgres: format!(
            "postgres://postgres:postgres@127.0.0.1:{}",
            postgres.get_host_port_ipv4(5432).await?
        ),
        rabbitmq: format!(
            "amqp://guest:guest@127.0.0.1:{}",
            rabbitmq.get_host_port_ipv4(5672).await?
        ),
        rabbitmq_api: format!(
            "http://guest:guest@127.0.0.1:{}",
            rabbitmq.get_host_port_ipv4(15672).await?
        ),
    };
    Ok((servers, postgres, rabbitmq))
}
