use sea_orm_migration::prelude::{
    DbErr, DeriveMigrationName, MigrationTrait, SchemaManager, async_trait,
};
use sea_orm_migration::sea_orm::ConnectionTrait;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager
            .get_connection()
            .execute_unprepared(
                "INSERT INTO stock_items (sku, on_hand) VALUES
                   ('KEYBOARD', 1000), ('MOUSE', 1000), ('MONITOR', 100), ('LAPTOP', 10), ('LIMITED', 1)
                 ON CONFLICT DO NOTHING",
            )
            .await?;
        Ok(())
    }

    /// Nothing to undo: the table itself goes with the migration before this one.
    async fn down(&self, _: &SchemaManager) -> Result<(), DbErr> {
        Ok(())
    }
}
