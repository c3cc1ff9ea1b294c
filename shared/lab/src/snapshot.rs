//! What databases and broker hold, with short names for what has long ids.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use database::Dialect;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr, QueryResult};
use serde_json::Value;
use transport::Transport;

use crate::site::{Site, pool, transport_of};
use crate::trace::{InboxRow, Order, OutboxRow, Parked, Queue, Queued, State, Stock};

/// What the experiment's orders are for.
pub(crate) const SKU: &str = "KEYBOARD";

/// Between two tries to read what could not be read.
const AGAIN: Duration = Duration::from_millis(10);

/// Reads everything.
pub(crate) struct Tables {
    orders: DatabaseConnection,
    inventory: DatabaseConnection,
    broker: Broker,
    /// Whether the broker is stopped: then nobody asks it.
    pub(crate) broker_stopped: AtomicBool,
    names: Mutex<Names>,
}

enum Broker {
    /// It tells what is in each queue.
    Sql(DatabaseConnection),
    /// It tells how much.
    Other(Arc<dyn Transport>),
}

#[derive(Debug, Default)]
struct Names {
    orders: HashMap<String, String>,
    messages: HashMap<String, String>,
}

impl Tables {
    pub(crate) fn new(site: &dyn Site) -> anyhow::Result<Self> {
        let broker = match site.lab_broker_url().starts_with("amqp") {
            false => Broker::Sql(pool(site.lab_broker_url())?),
            true => Broker::Other(transport_of(site.lab_broker_url())?),
        };
        Ok(Self {
            orders: pool(site.orders_url())?,
            inventory: pool(site.inventory_url())?,
            broker,
            broker_stopped: AtomicBool::default(),
            names: Mutex::default(),
        })
    }

    /// Everything, at about the same moment.
    pub(crate) async fn read(&self) -> State {
        loop {
            match self.try_to_read().await {
                Ok(state) => return state,
                Err(error) => tracing::debug!(%error, "once more"),
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    async fn try_to_read(&self) -> Result<State, DbErr> {
        let stopped = self.broker_stopped.load(Ordering::Relaxed);
        // In the order of the way: a message that moves meanwhile is seen twice rather than never.
        let orders =
            self.with_status(&self.orders, "SELECT id, status FROM orders ORDER BY id").await?;
        let orders_outbox = self.outbox(&self.orders, 'm').await?;
        let queues = self.queues(stopped).await?;
        let parked = self.parked().await?;
        let inventory_inbox = self.inbox(&self.inventory).await?;
        let reservations =
            self.with_status(&self.inventory, "SELECT order_id, status FROM reservations").await?;
        let stock = self.stock().await?;
        let inventory_outbox = self.outbox(&self.inventory, 'r').await?;
        let orders_inbox = self.inbox(&self.orders).await?;
        let broker = if stopped { "stopped" } else { "running" }.to_owned();
        Ok(State {
            broker,
            orders,
            orders_outbox,
            queues,
            inventory_inbox,
            reservations,
            stock,
            inventory_outbox,
            orders_inbox,
            parked,
            ..State::default()
        })
    }

    /// The short name of an order.
    pub(crate) fn order(&self, id: &str) -> String {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let next = names.orders.len() + 1;
        names.orders.entry(id.to_owned()).or_insert_with(|| format!("order-{next}")).clone()
    }

    /// The id of an order with a short name.
    pub(crate) fn order_id(&self, name: &str) -> Option<String> {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.orders.iter().find(|(_, it)| *it == name).map(|(id, _)| id.clone())
    }

    fn message(&self, id: &str, kind: char) -> String {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let next = names.messages.values().filter(|name| name.starts_with(kind)).count() + 1;
        names.messages.entry(id.to_owned()).or_insert_with(|| format!("{kind}{next}")).clone()
    }

    async fn rows(&self, db: &DatabaseConnection, sql: &str) -> Result<Vec<QueryResult>, DbErr> {
        db.query_all_raw(Dialect::of(db).statement(sql, [])).await
    }

    async fn with_status(&self, db: &DatabaseConnection, sql: &str) -> Result<Vec<Order>, DbErr> {
        let read = |row: &QueryResult| {
            let id: String = row.try_get_by_index(0)?;
            Ok(Order { order: self.order(&id), status: row.try_get_by_index(1)? })
        };
        self.rows(db, sql).await?.iter().map(read).collect()
    }

    async fn outbox(&self, db: &DatabaseConnection, kind: char) -> Result<Vec<OutboxRow>, DbErr> {
        let sql = "SELECT message_id, type, aggregate_id, status, claimed_by,
                     CAST(retry_count AS bigint) AS tries FROM outbox_messages ORDER BY id";
        let read = |row: &QueryResult| {
            let message_id: String = row.try_get("", "message_id")?;
            let order_id: String = row.try_get("", "aggregate_id")?;
            Ok(OutboxRow {
                message: self.message(&message_id, kind),
                kind: row.try_get("", "type")?,
                order: self.order(&order_id),
                status: row.try_get("", "status")?,
                claimed_by: row.try_get("", "claimed_by")?,
                tries: row.try_get("", "tries")?,
            })
        };
        self.rows(db, sql).await?.iter().map(read).collect()
    }

    async fn inbox(&self, db: &DatabaseConnection) -> Result<Vec<InboxRow>, DbErr> {
        let sql = "SELECT message_id FROM inbox_messages ORDER BY processed_at, message_id";
        let read = |row: &QueryResult| {
            let id: String = row.try_get("", "message_id")?;
            Ok(InboxRow { message: self.message(&id, 'm') })
        };
        self.rows(db, sql).await?.iter().map(read).collect()
    }

    async fn stock(&self) -> Result<Vec<Stock>, DbErr> {
        let sql = format!("SELECT sku, on_hand, reserved FROM stock_items WHERE sku = '{SKU}'");
        let read = |row: &QueryResult| {
            Ok(Stock {
                sku: row.try_get("", "sku")?,
                on_hand: row.try_get("", "on_hand")?,
                reserved: row.try_get("", "reserved")?,
            })
        };
        self.rows(&self.inventory, &sql).await?.iter().map(read).collect()
    }

    async fn parked(&self) -> Result<Vec<Parked>, DbErr> {
        let sql = "SELECT message_id, reason FROM parked_messages ORDER BY parked_at";
        let read = |row: &QueryResult| {
            let id: Option<String> = row.try_get("", "message_id")?;
            let message = id.map(|id| self.message(&id, 'm'));
            Ok(Parked { message, reason: row.try_get("", "reason")? })
        };
        self.rows(&self.inventory, sql).await?.iter().map(read).collect()
    }

    async fn queues(&self, stopped: bool) -> Result<Vec<Queue>, DbErr> {
        match &self.broker {
            Broker::Sql(db) => self.sql_queues(db).await,
            Broker::Other(_) if stopped => Ok(vec![]),
            Broker::Other(transport) => {
                let depths = transport.depths().await;
                let depths = depths.map_err(|error| DbErr::Custom(error.one_line()))?;
                let queue = |depth: transport::QueueDepth| Queue {
                    queue: depth.queue,
                    ready: depth.ready,
                    unacked: None,
                    messages: vec![],
                };
                Ok(depths.into_iter().map(queue).collect())
            }
        }
    }

    async fn sql_queues(&self, db: &DatabaseConnection) -> Result<Vec<Queue>, DbErr> {
        let sql = "SELECT name FROM broker_queues ORDER BY name";
        let mut queues = vec![];
        for row in self.rows(db, sql).await? {
            let queue = row.try_get("", "name")?;
            queues.push(Queue { queue, ready: 0, unacked: Some(0), messages: vec![] });
        }
        let sql = "SELECT queue, properties, headers, deliveries, lease_token
                   FROM broker_messages ORDER BY id";
        for row in self.rows(db, sql).await? {
            let name: String = row.try_get("", "queue")?;
            let message = self.queued(&row)?;
            let Some(queue) = queues.iter_mut().find(|queue| queue.queue == name) else {
                continue;
            };
            match message.unacked {
                true => queue.unacked = queue.unacked.map(|unacked| unacked + 1),
                false => queue.ready += 1,
            }
            queue.messages.push(message);
        }
        Ok(queues)
    }

    fn queued(&self, row: &QueryResult) -> Result<Queued, DbErr> {
        let text = |column| -> Result<Value, DbErr> {
            let text: String = row.try_get("", column)?;
            Ok(serde_json::from_str(&text).unwrap_or_default())
        };
        let (properties, headers) = (text("properties")?, text("headers")?);
        let kind = properties["type"].as_str().map(str::to_owned);
        let letter = match kind.as_deref().is_some_and(|kind| kind.starts_with("Stock")) {
            true => 'r',
            false => 'm',
        };
        let lease: Option<String> = row.try_get("", "lease_token")?;
        Ok(Queued {
            message: properties["message_id"].as_str().map(|id| self.message(id, letter)),
            kind,
            order: headers["aggregate-id"].as_str().map(|id| self.order(id)),
            deliveries: row.try_get("", "deliveries")?,
            unacked: lease.is_some(),
        })
    }
}
