//! What is in the tables right now, for the page. Reads only.

mod counters;
mod queue;
mod table;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use sea_orm::{DatabaseConnection, DbErr};
use serde::Serialize;
use service_kit::health::Health;
use tokio::sync::watch;
use transport::QueueDepth;

use crate::broker::{Broker, BrokerRead, BrokerView};
use counters::{Counters, OfDatabase};
pub(crate) use queue::queue_messages;
pub(crate) use table::Table;
use table::{Query, read_table};

/// Where the tables are.
#[derive(Clone)]
pub(crate) struct Sources {
    orders: DatabaseConnection,
    inventory: DatabaseConnection,
    broker: Broker,
    /// Known duplicates so far, where somebody counts them.
    duplicates: Option<watch::Receiver<Option<u64>>>,
}

/// Everything that the page shows of the tables.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Snapshot {
    broker: BrokerView,
    counters: Counters,
    queues: Vec<QueueDepth>,
    tables: Tables,
    errors: Vec<String>,
}

const OUTBOX_COLUMNS: &[&str] = &[
    "id",
    "messageId",
    "type",
    "aggregateId",
    "version",
    "status",
    "tries",
    "claimedBy",
    "lastError",
    "occurredOn",
    "sentAt",
];
const OUTBOX: &str =
    "SELECT id, message_id, type, aggregate_id, aggregate_version, status, retry_count, claimed_by,
  last_error, {time(occurred_on)}, {time(sent_at)} FROM outbox_messages ORDER BY id DESC";
const INBOX_COLUMNS: &[&str] = &["messageId", "processedAt"];
const INBOX: &str =
    "SELECT message_id, {time(processed_at)} FROM inbox_messages ORDER BY processed_at DESC";

const ORDERS_TABLES: &[Query] = &[
    Query {
        name: "orders",
        table: "orders",
        columns: &["orderId", "customerId", "status", "lines", "updatedAt"],
        sql: "SELECT id, customer_id,
          CASE WHEN status <> 'Placed' THEN status
               WHEN EXISTS (SELECT 1 FROM outbox_messages o WHERE o.aggregate_type = 'Order'
                 AND o.aggregate_id = orders.id AND o.aggregate_version = 1 AND o.status <> 'Sent')
               THEN 'PendingPublish' ELSE 'Published' END,
          (SELECT {lines} FROM order_lines l WHERE l.order_id = orders.id),
          {time(updated_at)} FROM orders ORDER BY id DESC",
    },
    Query { name: "ordersOutbox", table: "outbox_messages", columns: OUTBOX_COLUMNS, sql: OUTBOX },
    Query { name: "ordersInbox", table: "inbox_messages", columns: INBOX_COLUMNS, sql: INBOX },
];

const INVENTORY_TABLES: &[Query] = &[
    Query {
        name: "stock",
        table: "stock_items",
        columns: &["sku", "onHand", "reserved", "available"],
        sql: "SELECT sku, on_hand, reserved, on_hand - reserved FROM stock_items ORDER BY sku",
    },
    Query {
        name: "reservations",
        table: "reservations",
        columns: &["orderId", "status", "lines", "updatedAt"],
        sql: "SELECT order_id, status,
          (SELECT {lines} FROM reservation_lines l WHERE l.order_id = reservations.order_id),
          {time(updated_at)} FROM reservations ORDER BY updated_at DESC",
    },
    Query {
        name: "inventoryOutbox",
        table: "outbox_messages",
        columns: OUTBOX_COLUMNS,
        sql: OUTBOX,
    },
    Query { name: "inventoryInbox", table: "inbox_messages", columns: INBOX_COLUMNS, sql: INBOX },
];

const PARKED: Query = Query {
    name: "parked",
    table: "parked_messages",
    columns: &[
        "parkedId",
        "consumer",
        "messageId",
        "type",
        "reason",
        "detail",
        "parkedAt",
        "state",
    ],
    sql: "SELECT parked_id, consumer, message_id, type, reason, detail, {time(parked_at)}, state
      FROM parked_messages ORDER BY parked_at DESC",
};

impl Sources {
    pub(crate) fn new(
        orders: DatabaseConnection,
        inventory: DatabaseConnection,
        broker: Broker,
    ) -> Self {
        Self { orders, inventory, broker, duplicates: None }
    }

    /// Shows what somebody counts.
    pub(crate) fn with_duplicates(self, counted: watch::Receiver<Option<u64>>) -> Self {
        Self { duplicates: Some(counted), ..self }
    }

    pub(crate) fn broker(&self) -> Broker {
        self.broker.clone()
    }

    /// What is away is shown, and makes the page no less ready: to say what is away is its job.
    pub(crate) fn health(&self) -> Health {
        Health::default().shows_table("ordersDatabase", &self.orders, "orders").shows_table(
            "inventoryDatabase",
            &self.inventory,
            "stock_items",
        )
    }

    /// Reads all tables. What can't be read is named in `errors`; the rest is shown.
    pub(crate) async fn read(&self) -> Snapshot {
        // At once: what is away costs a time-out, and three of them would not add up.
        let (orders, inventory, BrokerRead { depths, messages, view }) = tokio::join!(
            read_database(&self.orders, ORDERS_TABLES),
            read_database(&self.inventory, INVENTORY_TABLES),
            self.broker.read(),
        );
        let (mut tables, mut errors) = (Tables::default(), Vec::new());
        let mut counted = |owner, read: Result<Read, DbErr>| match read {
            Ok(read) => {
                read.tables.into_iter().for_each(|(name, table)| tables.add(name, table));
                Some(read.counts)
            }
            Err(error) => {
                errors.push(format!("{owner}: {error}"));
                None
            }
        };
        let (orders, inventory) =
            (counted("orders database", orders), counted("inventory database", inventory));
        let mut counters = Counters::new(orders, inventory);
        counters.duplicates = self.duplicates.as_ref().and_then(|counted| *counted.borrow());
        // Before the first session there are no queues; that is no error worth a banner.
        let queues = depths.unwrap_or_else(|error| {
            errors.push(format!("broker: {}", error.one_line()));
            Vec::new()
        });
        match messages {
            Some(Ok(messages)) => tables.add("queueMessages", messages),
            Some(Err(error)) => errors.push(format!("broker: {error}")),
            None => {}
        }
        Snapshot { broker: view, counters, queues, tables, errors }
    }
}

#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
struct Tables(BTreeMap<&'static str, Table>);

impl Tables {
    /// Parked messages of both databases are shown as one table.
    fn add(&mut self, name: &'static str, table: Table) {
        match self.0.entry(name) {
            Entry::Vacant(place) => {
                place.insert(table);
            }
            Entry::Occupied(mut known) => {
                known.get_mut().total += table.total;
                known.get_mut().rows.extend(table.rows);
            }
        }
    }
}

/// What was read of one database.
struct Read {
    tables: Vec<(&'static str, Table)>,
    counts: OfDatabase,
}

async fn read_database(db: &DatabaseConnection, queries: &[Query]) -> Result<Read, DbErr> {
    let mut tables = Vec::new();
    for query in queries.iter().chain([&PARKED]) {
        tables.push((query.name, read_table(db, query).await?));
    }
    Ok(Read { tables, counts: OfDatabase::read(db).await? })
}
