//! What is in the tables right now, for the page. Reads only.

use anyhow::Context;
use database::Dialect;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr, QueryResult};
use serde::Serialize;
use serde_json::{Value, json};
use service_kit::health::Health;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use transport::{QueueDepth, Transport, TransportOptions};

/// Rows of each table that the page shows.
const ROWS: usize = 20;

/// Where the tables are.
#[derive(Clone)]
pub(crate) struct Sources {
    orders: DatabaseConnection,
    inventory: DatabaseConnection,
    broker: Arc<dyn Transport>,
}

/// Everything that the page shows of the tables.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct Snapshot {
    queues: Vec<QueueDepth>,
    tables: BTreeMap<&'static str, Table>,
    errors: Vec<String>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Table {
    total: i64,
    columns: Vec<&'static str>,
    rows: Vec<Vec<Value>>,
}

/// A table of the page: which columns, and the query that gives them as text or numbers, newest first.
struct Query {
    name: &'static str,
    table: &'static str,
    columns: &'static [&'static str],
    sql: &'static str,
}

const OUTBOX_COLUMNS: &[&str] = &[
    "id",
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
    "SELECT id, type, aggregate_id, aggregate_version, status, retry_count, claimed_by,
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
    columns: &["parkedId", "consumer", "messageId", "type", "reason", "detail", "parkedAt"],
    sql: "SELECT parked_id, consumer, message_id, type, reason, detail, {time(parked_at)}
      FROM parked_messages ORDER BY parked_at DESC",
};

impl Sources {
    pub(crate) fn new(
        orders: DatabaseConnection,
        inventory: DatabaseConnection,
        broker_url: &str,
    ) -> anyhow::Result<Self> {
        let options = TransportOptions {
            client_name: "playground".to_owned(),
            ..TransportOptions::default()
        };
        let broker =
            transport::connect(broker_url, contracts::topology(), options).context("BROKER_URL")?;
        Ok(Self { orders, inventory, broker })
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
        let (orders, inventory, depths) = tokio::join!(
            read_tables(&self.orders, ORDERS_TABLES),
            read_tables(&self.inventory, INVENTORY_TABLES),
            self.broker.depths(),
        );
        let mut snapshot = Snapshot::default();
        for (owner, read) in [("orders database", orders), ("inventory database", inventory)] {
            match read {
                Ok(tables) => {
                    tables.into_iter().for_each(|(name, table)| snapshot.add(name, table))
                }
                Err(error) => snapshot.errors.push(format!("{owner}: {error}")),
            }
        }
        match depths {
            Ok(queues) => snapshot.queues = queues,
            // Before the first session there are no queues; that is no error worth a banner.
            Err(error) => snapshot.errors.push(format!("broker: {}", error.one_line())),
        }
        snapshot
    }
}

impl Snapshot {
    /// Parked messages of both databases are shown as one table.
    fn add(&mut self, name: &'static str, table: Table) {
        match self.tables.entry(name) {
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

async fn read_tables(
    db: &DatabaseConnection,
    queries: &[Query],
) -> Result<Vec<(&'static str, Table)>, DbErr> {
    let mut tables = Vec::new();
    for query in queries.iter().chain([&PARKED]) {
        tables.push((query.name, read_table(db, query).await?));
    }
    Ok(tables)
}

async fn read_table(db: &DatabaseConnection, query: &Query) -> Result<Table, DbErr> {
    let dialect = Dialect::of(db);
    let lines = match dialect {
        Dialect::Sqlite => "group_concat(l.sku || ' × ' || l.quantity, ', ')",
        Dialect::Postgres => "string_agg(l.sku || ' × ' || l.quantity, ', ')",
    };
    let sql = with_times(dialect, &query.sql.replace("{lines}", lines));
    let sql = format!("{sql} LIMIT {ROWS}");
    let rows = db.query_all_raw(dialect.statement(sql, [])).await?;
    let rows = rows.iter().map(|row| cells(row, query.columns.len())).collect::<Result<_, _>>()?;
    let sql = format!("SELECT COUNT(*) AS n FROM {}", query.table);
    let counted = db.query_one_raw(dialect.statement(sql, [])).await?;
    let total = counted.map_or(Ok(0), |row| row.try_get("", "n"))?;
    Ok(Table { total, columns: query.columns.to_vec(), rows })
}

/// Puts an RFC 3339 text in place of each `{time(column)}`.
fn with_times(dialect: Dialect, sql: &str) -> String {
    let (before, after) = match dialect {
        Dialect::Sqlite => ("(", ")"),
        Dialect::Postgres => {
            ("to_char(", " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
        }
    };
    sql.replace("{time(", before).replace(")}", after)
}

fn cells(row: &QueryResult, count: usize) -> Result<Vec<Value>, DbErr> {
    (0..count).map(|index| cell(row, index)).collect()
}

/// Text, or else a number.
fn cell(row: &QueryResult, index: usize) -> Result<Value, DbErr> {
    if let Ok(text) = row.try_get_by_index::<Option<String>>(index) {
        return Ok(json!(text));
    }
    if let Ok(number) = row.try_get_by_index::<Option<i32>>(index) {
        return Ok(json!(number));
    }
    Ok(json!(row.try_get_by_index::<Option<i64>>(index)?))
}
