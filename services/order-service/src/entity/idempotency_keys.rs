use chrono::{DateTime, Utc};
use contracts::OrderId;
use sea_orm::DerivePrimaryKey;
use sea_orm::entity::prelude::{
    ActiveModelBehavior, DeriveEntityModel, DeriveRelation, EntityTrait, EnumIter, PrimaryKeyTrait,
};

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "idempotency_keys")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) key: String,
    pub(crate) request_hash: String,
    pub(crate) order_id: OrderId,
    pub(crate) created_at: DateTime<Utc>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
