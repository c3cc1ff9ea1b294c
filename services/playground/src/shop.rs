//! Which processes make up the shop, where they listen, and what they are told.

use std::net::TcpListener;
use std::path::PathBuf;

use service_kit::settings::{InvalidSecret, Setting, either, with_password};

use crate::Settings;
use crate::data_folder::DataFolder;
use crate::service_url::ServiceUrl;
use crate::services::Places;
use crate::settings::Ports;

/// The port of the order service, from the first one on.
const ORDERS: u16 = 0;

/// The port of the inventory service, from the first one on.
const INVENTORY: u16 = 1;

/// The ports of the relays.
const ORDERS_RELAY: u16 = 2;
const INVENTORY_RELAY: u16 = 3;

/// Where everything is.
#[derive(Debug, Clone)]
pub(crate) struct Shop {
    pub(crate) orders_database: String,
    pub(crate) inventory_database: String,
    pub(crate) broker: String,
    admin_token: String,
    ports: Ports,
    settings: Settings,
}

/// One process to start.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// How calls name it.
    pub(crate) id: &'static str,
    /// How people call it.
    pub(crate) name: &'static str,
    /// The subcommand of this binary.
    pub(crate) subcommand: &'static str,
    pub(crate) port: u16,
    pub(crate) environment: Vec<(&'static str, String)>,
}

impl Part {
    pub(crate) fn url(&self) -> ServiceUrl {
        ServiceUrl::local(self.port)
    }
}

impl Shop {
    /// Reads the secrets that stand in files, too.
    pub(crate) fn new(settings: &Settings, folder: &DataFolder) -> Result<Self, InvalidSecret> {
        let or_sqlite =
            |(setting, url): Setting<&Option<String>>, file: Setting<&Option<PathBuf>>, name| {
                let url = url.clone().unwrap_or_else(|| folder.sqlite_url(name));
                with_password((setting, &url), (file.0, file.1.as_deref()))
            };
        let admin_token = either(
            ("ADMIN_TOKEN", settings.admin_token.as_deref()),
            ("ADMIN_TOKEN_FILE", settings.admin_token_file.as_deref()),
        )?;
        Ok(Self {
            orders_database: or_sqlite(
                ("ORDERS_DATABASE_URL", &settings.orders_database_url),
                ("ORDERS_DATABASE_PASSWORD_FILE", &settings.orders_database_password_file),
                "orders.db",
            )?,
            inventory_database: or_sqlite(
                ("INVENTORY_DATABASE_URL", &settings.inventory_database_url),
                ("INVENTORY_DATABASE_PASSWORD_FILE", &settings.inventory_database_password_file),
                "inventory.db",
            )?,
            broker: or_sqlite(
                ("BROKER_URL", &settings.broker_url),
                ("BROKER_PASSWORD_FILE", &settings.broker_password_file),
                "broker.db",
            )?,
            admin_token: admin_token.unwrap_or_else(|| "dev".to_owned()),
            ports: settings.ports,
            settings: settings.clone(),
        })
    }

    pub(crate) fn admin_token(&self) -> &str {
        &self.admin_token
    }

    pub(crate) fn page_port(&self) -> u16 {
        self.ports.page()
    }

    pub(crate) fn orders_url(&self) -> ServiceUrl {
        ServiceUrl::local(self.ports.port_base + ORDERS)
    }

    pub(crate) fn places(&self) -> Places {
        let at = |offset| ServiceUrl::local(self.ports.port_base + offset);
        Places {
            orders: at(ORDERS),
            inventory: at(INVENTORY),
            orders_relay: at(ORDERS_RELAY),
            inventory_relay: at(INVENTORY_RELAY),
        }
    }

    /// The four processes that the supervisor starts; itself, with the page, is the fifth.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let (orders, inventory) = (&self.orders_database, &self.inventory_database);
        vec![
            self.part(("order-service", "order-service"), "order-service", ORDERS, orders, &[]),
            self.part(
                ("inventory-service", "inventory-service"),
                "inventory-service",
                INVENTORY,
                inventory,
                &[],
            ),
            self.part(
                ("orders-relay", "orders relay"),
                "outbox-relay",
                ORDERS_RELAY,
                orders,
                &[("RELAY_APP_ID", "order-service")],
            ),
            self.part(
                ("inventory-relay", "inventory relay"),
                "outbox-relay",
                INVENTORY_RELAY,
                inventory,
                &[("RELAY_APP_ID", "inventory-service")],
            ),
        ]
    }

    fn part(
        &self,
        (id, name): (&'static str, &'static str),
        subcommand: &'static str,
        offset: u16,
        database: &str,
        more: &[(&'static str, &str)],
    ) -> Part {
        let port = self.ports.port_base + offset;
        let mut environment = vec![
            ("DATABASE_URL", database.to_owned()),
            ("BROKER_URL", self.broker.clone()),
            ("HTTP_ADDR", format!("127.0.0.1:{port}")),
            ("ADMIN_TOKEN", self.admin_token.clone()),
            ("RUST_LOG", self.settings.log.rust_log.clone()),
            ("LOG_FORMAT", self.settings.log.log_format.clone()),
            ("STOP_WITH_STDIN", "true".to_owned()),
        ];
        // Short, so that a learner who kills a relay sees the next one take over. A setting of one's own wins.
        if subcommand == "outbox-relay" && std::env::var_os("RELAY_LEASE").is_none() {
            environment.push(("RELAY_LEASE", "3s".to_owned()));
        }
        environment.extend(more.iter().map(|(key, value)| (*key, (*value).to_owned())));
        Part { id, name, subcommand, port, environment }
    }

    /// Says which port is in use before anything is started.
    pub(crate) fn check_ports(&self) -> anyhow::Result<()> {
        let parts = self.parts();
        let wanted = parts.iter().map(|part| (part.name, part.port));
        for (name, port) in wanted.chain([("the page", self.page_port())]) {
            if let Err(error) = TcpListener::bind(("127.0.0.1", port)) {
                anyhow::bail!(
                    "port {port} for {name}: {error}; stop what listens there, or choose other ports with --port-base"
                );
            }
        }
        Ok(())
    }
}
