use database::create_table;
use sea_orm_migration::prelude::{
    DbErr, DeriveMigrationName, MigrationTrait, SchemaManager, async_trait,
};
use sea_orm_migration::sea_orm::ConnectionTrait;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let connection = manager.get_connection();
        create_table(connection, "orders", ORDERS).await?;
        create_table(connection, "order_lines", ORDER_LINES).await?;
        create_table(connection, "idempotency_keys", IDEMPOTENCY_KEYS).await?;
        for index in INDEXES {
            connection.execute_unprepared(index).await?;
        }
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        for table in ["idempotency_keys", "order_lines", "orders"] {
            let sql = format!("DROP TABLE {table}");
            manager.get_connection().execute_unprepared(&sql).await?;
        }
        Ok(())
    }
}

const ORDERS: &str = "
  id text PRIMARY KEY, -- UUID of version 7: sorts by time
  customer_id text NOT NULL,
  status text NOT NULL CHECK (status IN ('Placed', 'Confirmed', 'Rejected', 'Cancelling', 'Cancelled')), -- whether Placed is published, the outbox knows
  rejection JSON, -- reason and shortages of a rejected order
  version integer NOT NULL, -- counts the changes of this row
  event_version bigint NOT NULL, -- version of the last event about it in the outbox
  created_at TIMESTAMP NOT NULL,
  updated_at TIMESTAMP NOT NULL";

const ORDER_LINES: &str = "
  order_id text NOT NULL REFERENCES orders (id),
  line_no integer NOT NULL, -- order in which the customer named them
  sku text NOT NULL,
  quantity bigint NOT NULL CHECK (quantity > 0),
  PRIMARY KEY (order_id, line_no)";

const IDEMPOTENCY_KEYS: &str = "
  key text PRIMARY KEY, -- the header's value
  request_hash text NOT NULL, -- SHA-256 of the parsed order: the same key with another order is an error
  order_id text NOT NULL REFERENCES orders (id),
  created_at TIMESTAMP NOT NULL";

const INDEXES: [&str; 2] = [
    "CREATE INDEX orders_customer ON orders (customer_id, id)",
    "CREATE INDEX orders_status ON orders (status, id)",
];
