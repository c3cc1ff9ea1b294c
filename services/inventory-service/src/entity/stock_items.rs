use contracts::Sku;
use sea_orm::DerivePrimaryKey;
use sea_orm::entity::prelude::{
    ActiveModelBehavior, DeriveEntityModel, DeriveRelation, EntityTrait, EnumIter, PrimaryKeyTrait,
};

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "stock_items")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) sku: Sku,
    pub(crate) on_hand: i64,
    pub(crate) reserved: i64,
}

impl Model {
    /// What can still be promised.
    pub(crate) fn available(&self) -> i64 {
        self.on_hand - self.reserved
    }
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
