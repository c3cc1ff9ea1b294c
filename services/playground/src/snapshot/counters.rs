//! The few numbers that tell whether all is well.

use sea_orm::{DatabaseConnection, DbErr};
use serde::Serialize;

use super::table::count;

/// `None`: not known at the moment.
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Counters {
    orders_backlog: Option<i64>,
    inventory_backlog: Option<i64>,
    /// Known duplicates that the inboxes have dropped since their processes started.
    pub(super) duplicates: Option<u64>,
    dead: Option<i64>,
    parked: Option<i64>,
}

/// Those of one database.
pub(super) struct OfDatabase {
    backlog: i64,
    dead: i64,
    parked: i64,
}

impl OfDatabase {
    /// Each by an index of few rows, but for the parked ones, which are few.
    pub(super) async fn read(db: &DatabaseConnection) -> Result<Self, DbErr> {
        Ok(Self {
            backlog: count(db, "outbox_messages WHERE status = 'Pending'").await?,
            dead: count(db, "outbox_messages WHERE status = 'Dead'").await?,
            parked: count(db, "parked_messages WHERE state = 'parked'").await?,
        })
    }
}

impl Counters {
    pub(super) fn new(orders: Option<OfDatabase>, inventory: Option<OfDatabase>) -> Self {
        let both = |number: fn(&OfDatabase) -> i64| {
            Some(number(orders.as_ref()?) + number(inventory.as_ref()?))
        };
        Self {
            dead: both(|of| of.dead),
            parked: both(|of| of.parked),
            duplicates: None,
            orders_backlog: orders.as_ref().map(|of| of.backlog),
            inventory_backlog: inventory.as_ref().map(|of| of.backlog),
        }
    }
}
