mod m20261130_110000_create_orders;

use sea_orm_migration::prelude::{MigrationTrait, MigratorTrait, async_trait};

use crate::{
    m20261130_100000_create_outbox as create_outbox, m20261130_100100_create_inbox as create_inbox,
    m20261130_200000_operate_outbox as operate_outbox,
    m20261130_200100_operate_inbox as operate_inbox,
};

pub(crate) struct Migrator;

#[async_trait::async_trait]
impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![
            Box::new(create_outbox::Migration),
            Box::new(create_inbox::Migration),
            Box::new(m20261130_110000_create_orders::Migration),
            Box::new(operate_outbox::Migration),
            Box::new(operate_inbox::Migration),
        ]
    }
}
