use chrono::{DateTime, Utc};
use contracts::{CustomerId, OrderId, RejectionReason, Shortage};
use sea_orm::entity::prelude::{
    ActiveModelBehavior, DeriveActiveEnum, DeriveEntityModel, DeriveRelation, EntityTrait,
    EnumIter, PrimaryKeyTrait,
};
use sea_orm::{DerivePrimaryKey, FromJsonQueryResult};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "orders")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) id: OrderId,
    pub(crate) customer_id: CustomerId,
    pub(crate) status: Stored,
    pub(crate) rejection: Option<Rejection>,
    pub(crate) version: i32,
    pub(crate) event_version: i64,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) updated_at: DateTime<Utc>,
}

/// The status as stored. Whether `Placed` is published, the outbox knows; it is not stored twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "Text")]
pub(crate) enum Stored {
    #[sea_orm(string_value = "Placed")]
    Placed,
    #[sea_orm(string_value = "Confirmed")]
    Confirmed,
    #[sea_orm(string_value = "Rejected")]
    Rejected,
    #[sea_orm(string_value = "Cancelling")]
    Cancelling,
    #[sea_orm(string_value = "Cancelled")]
    Cancelled,
}

/// Why an order was rejected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromJsonQueryResult)]
pub(crate) struct Rejection {
    pub(crate) reason: RejectionReason,
    pub(crate) shortages: Vec<Shortage>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
