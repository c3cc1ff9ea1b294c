//! Where a run takes place: two databases and a broker that nobody else uses.

use std::path::Path;

use anyhow::Context;
use async_trait::async_trait;
use database::PoolSettings;
use sea_orm::{ConnectionTrait, DatabaseConnection};
use tempfile::TempDir;
use tokio::sync::OnceCell;
use transport::sql::switch;
use transport::{Transport, TransportOptions};

/// Databases and a broker, and how the broker is broken.
#[async_trait]
pub trait Site: Send + Sync {
    /// A word for the trace: what they are.
    fn backing(&self) -> &'static str;

    /// The order service's database, with its tables.
    fn orders_url(&self) -> &str;

    /// The inventory service's database, with its tables.
    fn inventory_url(&self) -> &str;

    /// The broker.
    fn broker_url(&self) -> &str;

    /// The same broker for the lab itself, which uses it also while the processes can't.
    fn lab_broker_url(&self) -> &str {
        self.broker_url()
    }

    /// From now on nobody can use the broker. What is in its queues stays.
    ///
    /// # Errors
    /// It can't be done.
    async fn stop_broker(&self) -> anyhow::Result<()>;

    /// Ends [`Self::stop_broker`].
    ///
    /// # Errors
    /// It can't be done.
    async fn start_broker(&self) -> anyhow::Result<()>;

    /// Inventory's queue gets nothing any more.
    ///
    /// # Errors
    /// It can't be done.
    async fn unbind(&self) -> anyhow::Result<()>;

    /// Ends [`Self::unbind`]: a session that declares everything brings the binding back.
    ///
    /// # Errors
    /// It can't be done.
    async fn bind(&self) -> anyhow::Result<()> {
        transport_of(self.lab_broker_url())?.publisher().await?;
        Ok(())
    }
}

/// Makes a fresh site for each run.
#[async_trait]
pub trait Sites: Send + Sync + 'static {
    /// A site that nobody has used.
    ///
    /// # Errors
    /// There is none.
    async fn fresh(&self) -> anyhow::Result<Box<dyn Site>>;
}

/// The broker, for the lab's own messages.
pub(crate) fn transport_of(broker_url: &str) -> anyhow::Result<std::sync::Arc<dyn Transport>> {
    let options = TransportOptions { client_name: "lab".to_owned(), ..TransportOptions::default() };
    transport::connect(broker_url, contracts::topology(), options).context("the lab's broker")
}

/// A small pool for the lab's own questions.
pub(crate) fn pool(url: &str) -> anyhow::Result<DatabaseConnection> {
    let settings = PoolSettings { application_name: "lab".to_owned(), max_connections: 2 };
    database::connect(url, &settings).context("the lab's database")
}

/// SQLite files in a scratch folder, which goes with it.
#[derive(Debug)]
struct Embedded {
    orders: String,
    inventory: String,
    broker: String,
    _folder: TempDir,
}

const FILES: [&str; 3] = ["orders.db", "inventory.db", "broker.db"];

/// Fresh SQLite files for each run, in folders that go with it.
#[derive(Debug, Default)]
pub struct EmbeddedSites {
    /// Files with all tables and no rows: made once, copied for each run.
    template: OnceCell<TempDir>,
}

#[async_trait]
impl Sites for EmbeddedSites {
    async fn fresh(&self) -> anyhow::Result<Box<dyn Site>> {
        let template = self.template.get_or_try_init(template).await?;
        let folder = scratch()?;
        for file in FILES {
            tokio::fs::copy(template.path().join(file), folder.path().join(file)).await?;
        }
        let [orders, inventory, broker] = FILES.map(|file| url(folder.path(), file));
        Ok(Box::new(Embedded { orders, inventory, broker, _folder: folder }))
    }
}

fn scratch() -> anyhow::Result<TempDir> {
    tempfile::Builder::new().prefix("once-shop-lab-").tempdir().context("a scratch folder")
}

fn url(folder: &Path, file: &str) -> String {
    format!("sqlite://{}", folder.join(file).display())
}

async fn template() -> anyhow::Result<TempDir> {
    let folder = scratch()?;
    let [orders, inventory, broker] = FILES.map(|file| url(folder.path(), file));
    for (url, database) in
        [(orders, migrations::Database::Orders), (inventory, migrations::Database::Inventory)]
    {
        let db = pool(&url)?;
        migrations::up(&db, database).await?;
        to_one_file(db).await?;
    }
    let db = pool(&broker)?;
    transport_of(&broker)?.publisher().await?;
    to_one_file(db).await?;
    Ok(folder)
}

/// What is in the write-ahead log is not in a copy of the file.
async fn to_one_file(db: DatabaseConnection) -> anyhow::Result<()> {
    db.execute_unprepared("PRAGMA wal_checkpoint(TRUNCATE)").await?;
    db.close().await?;
    Ok(())
}

#[async_trait]
impl Site for Embedded {
    fn backing(&self) -> &'static str {
        "sqlite"
    }

    fn orders_url(&self) -> &str {
        &self.orders
    }

    fn inventory_url(&self) -> &str {
        &self.inventory
    }

    fn broker_url(&self) -> &str {
        &self.broker
    }

    async fn stop_broker(&self) -> anyhow::Result<()> {
        Ok(switch::stop(&pool(&self.broker)?).await?)
    }

    async fn start_broker(&self) -> anyhow::Result<()> {
        Ok(switch::start(&pool(&self.broker)?).await?)
    }

    async fn unbind(&self) -> anyhow::Result<()> {
        let sql = format!(
            "DELETE FROM broker_bindings WHERE queue = '{}'",
            contracts::ORDER_EVENTS_QUEUE
        );
        pool(&self.broker)?.execute_unprepared(&sql).await?;
        Ok(())
    }
}
