use contracts::{OrderId, Sku};
use sea_orm::DerivePrimaryKey;
use sea_orm::entity::prelude::{
    ActiveModelBehavior, DeriveEntityModel, DeriveRelation, EntityTrait, EnumIter, PrimaryKeyTrait,
};

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "order_lines")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) order_id: OrderId,
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) line_no: i32,
    pub(crate) sku: Sku,
    pub(crate) quantity: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
