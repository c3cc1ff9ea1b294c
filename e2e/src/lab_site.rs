//! PostgreSQL and RabbitMQ for the lab's experiments.

use anyhow::Context;
use async_trait::async_trait;
use lab::{Site, Sites};
use migrations::Database;
use sea_orm::ConnectionTrait;
use test_kit::{Proxy, Servers};
use tokio::sync::OnceCell;

/// Fresh databases and a fresh virtual host for each run.
#[derive(Debug, Default)]
pub struct ServerSites {
    /// Databases with all tables and no rows, to be copied.
    templates: OnceCell<[String; 2]>,
}

struct ServerSite {
    servers: Servers,
    suffix: String,
    orders: String,
    inventory: String,
    /// Behind the proxy.
    broker: String,
    lab_broker: String,
    proxy: Proxy,
}

#[async_trait]
impl Sites for ServerSites {
    async fn fresh(&self) -> anyhow::Result<Box<dyn Site>> {
        let servers = Servers::from_environment()?;
        let templates = self.templates.get_or_try_init(|| templates(&servers)).await?;
        let suffix = uuid::Uuid::now_v7().simple().to_string();
        let admin = test_kit::connect(&format!("{}/postgres", servers.postgres))?;
        for (name, template) in ["orders", "inventory"].iter().zip(templates) {
            let sql = format!("CREATE DATABASE lab_{name}_{suffix} TEMPLATE {template}");
            admin.execute_unprepared(&sql).await?;
        }
        let vhost = format!("lab-{suffix}");
        let url = format!("{}/api/vhosts/{vhost}", servers.rabbitmq_api);
        let body = serde_json::json!({"default_queue_type": "quorum"});
        let made = reqwest::Client::new().put(url).json(&body).send().await?;
        anyhow::ensure!(made.status().is_success(), "creating a virtual host: {made:?}");
        let lab_broker = format!("{}/{vhost}", servers.rabbitmq);
        let target = servers.rabbitmq.rsplit('@').next().context("an address")?.to_owned();
        let proxy = Proxy::start(target.clone()).await?;
        Ok(Box::new(ServerSite {
            orders: format!("{}/lab_orders_{suffix}", servers.postgres),
            inventory: format!("{}/lab_inventory_{suffix}", servers.postgres),
            broker: lab_broker.replace(&target, &proxy.address().to_string()),
            lab_broker,
            proxy,
            servers,
            suffix,
        }))
    }
}

async fn templates(servers: &Servers) -> anyhow::Result<[String; 2]> {
    let suffix = uuid::Uuid::now_v7().simple().to_string();
    let admin = test_kit::connect(&format!("{}/postgres", servers.postgres))?;
    let names = ["orders", "inventory"].map(|name| format!("lab_{name}_template_{suffix}"));
    for (name, database) in names.iter().zip([Database::Orders, Database::Inventory]) {
        admin.execute_unprepared(&format!("CREATE DATABASE {name}")).await?;
        let db = test_kit::connect(&format!("{}/{name}", servers.postgres))?;
        migrations::up(&db, database).await?;
        db.close().await?; // a database in use can't be copied
    }
    Ok(names)
}

#[async_trait]
impl Site for ServerSite {
    fn backing(&self) -> &'static str {
        "servers"
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

    fn lab_broker_url(&self) -> &str {
        &self.lab_broker
    }

    async fn stop_broker(&self) -> anyhow::Result<()> {
        self.proxy.cut();
        Ok(())
    }

    async fn start_broker(&self) -> anyhow::Result<()> {
        self.proxy.heal();
        Ok(())
    }

    async fn unbind(&self) -> anyhow::Result<()> {
        let url = format!(
            "{}/api/bindings/lab-{}/e/shop.events/q/{}/order.*",
            self.servers.rabbitmq_api,
            self.suffix,
            contracts::ORDER_EVENTS_QUEUE
        );
        let answer = reqwest::Client::new().delete(url).send().await?;
        anyhow::ensure!(answer.status().is_success(), "removing the binding: {answer:?}");
        Ok(())
    }
}

/// Hundreds of runs would fill the servers.
impl Drop for ServerSite {
    fn drop(&mut self) {
        let (servers, suffix) = (self.servers.clone(), self.suffix.clone());
        tokio::spawn(async move {
            let vhost = format!("{}/api/vhosts/lab-{suffix}", servers.rabbitmq_api);
            let _ = reqwest::Client::new().delete(vhost).send().await;
            let Ok(admin) = test_kit::connect(&format!("{}/postgres", servers.postgres)) else {
                return;
            };
            for name in ["orders", "inventory"] {
                let sql = format!("DROP DATABASE IF EXISTS lab_{name}_{suffix} WITH (FORCE)");
                let _ = admin.execute_unprepared(&sql).await;
            }
        });
    }
}
