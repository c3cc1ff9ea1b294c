use chrono::{DateTime, Utc};
use contracts::OrderId;
use sea_orm::DerivePrimaryKey;
use sea_orm::entity::prelude::{
    ActiveModelBehavior, DeriveActiveEnum, DeriveEntityModel, DeriveRelation, EntityTrait,
    EnumIter, PrimaryKeyTrait,
};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "reservations")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) order_id: OrderId,
    pub(crate) status: Status,
    pub(crate) event_version: i64,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) updated_at: DateTime<Utc>,
}

/// What was decided about an order. The row stays for ever: it is how a late or a second
/// `OrderPlaced` finds out that the decision has been made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumIter, DeriveActiveEnum, Serialize)]
#[sea_orm(rs_type = "String", db_type = "Text")]
pub(crate) enum Status {
    #[sea_orm(string_value = "Reserved")]
    Reserved,
    #[sea_orm(string_value = "Rejected")]
    Rejected,
    #[sea_orm(string_value = "Released")]
    Released,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
