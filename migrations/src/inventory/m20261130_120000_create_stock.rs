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
        create_table(connection, "stock_items", STOCK_ITEMS).await?;
        create_table(connection, "reservations", RESERVATIONS).await?;
        create_table(connection, "reservation_lines", RESERVATION_LINES).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        for table in ["reservation_lines", "reservations", "stock_items"] {
            let sql = format!("DROP TABLE {table}");
            manager.get_connection().execute_unprepared(&sql).await?;
        }
        Ok(())
    }
}

const STOCK_ITEMS: &str = "
  sku text PRIMARY KEY,
  on_hand bigint NOT NULL, -- in the warehouse
  reserved bigint NOT NULL DEFAULT 0, -- of those, promised to orders
  CHECK (reserved >= 0 AND reserved <= on_hand)";

const RESERVATIONS: &str = "
  order_id text PRIMARY KEY, -- one decision for each order, ever
  status text NOT NULL CHECK (status IN ('Reserved', 'Rejected', 'Released')), -- Released without lines: the cancel came first
  event_version bigint NOT NULL, -- version of the last event about it in the outbox
  created_at TIMESTAMP NOT NULL,
  updated_at TIMESTAMP NOT NULL";

const RESERVATION_LINES: &str = "
  order_id text NOT NULL REFERENCES reservations (order_id),
  sku text NOT NULL REFERENCES stock_items (sku),
  quantity bigint NOT NULL CHECK (quantity > 0),
  PRIMARY KEY (order_id, sku)";
