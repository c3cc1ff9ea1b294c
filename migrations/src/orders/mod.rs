mod m20261130_110000_create_orders;

use sea_orm_migration::prelude::{MigrationTrait, MigratorTrait, async_trait};

use crate::{m20261130_100000_create_outbox as outbox, m20261130_100100_create_inbox as inbox};

pub(crate) struct Migrator;

#[async_trait::async_trait]
impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![
            Box::new(outbox::Migration),
            Box::new(inbox::Migration),
            Box::new(m20261130_110000_create_orders::Migration),
        ]
    }
}
