//! Orders as clients see them.

use std::collections::HashMap;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use contracts::{CustomerId, ORDER_AGGREGATE, OrderId, Sku};
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{
    ColumnTrait, DatabaseConnection, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect,
};
use serde::Serialize;

use crate::entity::order_lines;
use crate::entity::orders::{self, Rejection, Stored};

/// The version of the message that makes an order public.
const PLACED_VERSION: i64 = 1;

/// An order as clients see it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OrderView {
    pub(crate) order_id: OrderId,
    customer_id: CustomerId,
    status: Status,
    lines: Vec<LineView>,
    rejection: Option<Rejection>,
    version: i32,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}

#[derive(Debug, Serialize)]
struct LineView {
    sku: Sku,
    quantity: i64,
}

/// The status as clients see it: `Placed` is split by whether the broker has confirmed the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Status {
    PendingPublish,
    Published,
    Confirmed,
    Rejected,
    Cancelling,
    Cancelled,
}

impl Status {
    fn of(stored: Stored, unsent: bool) -> Self {
        match stored {
            Stored::Placed if unsent => Self::PendingPublish,
            Stored::Placed => Self::Published,
            Stored::Confirmed => Self::Confirmed,
            Stored::Rejected => Self::Rejected,
            Stored::Cancelling => Self::Cancelling,
            Stored::Cancelled => Self::Cancelled,
        }
    }
}

impl FromStr for Status {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "PendingPublish" => Ok(Self::PendingPublish),
            "Published" => Ok(Self::Published),
            "Confirmed" => Ok(Self::Confirmed),
            "Rejected" => Ok(Self::Rejected),
            "Cancelling" => Ok(Self::Cancelling),
            "Cancelled" => Ok(Self::Cancelled),
            _ => Err(()),
        }
    }
}

/// Which orders to list.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    pub(crate) status: Option<Status>,
    pub(crate) customer_id: Option<String>,
    /// Only orders older than this one.
    pub(crate) before: Option<OrderId>,
}

/// One order.
pub(crate) async fn find(db: &DatabaseConnection, id: OrderId) -> Result<Option<OrderView>, DbErr> {
    let order = orders::Entity::find_by_id(id).one(db).await?;
    Ok(views(db, order.into_iter().collect()).await?.pop())
}

/// Orders, newest first: their ids sort by time.
pub(crate) async fn list(
    db: &DatabaseConnection,
    filter: Filter,
    limit: u64,
) -> Result<Vec<OrderView>, DbErr> {
    let mut query = orders::Entity::find();
    if let Some(status) = filter.status {
        query = query.filter(stored_as(status));
        if matches!(status, Status::PendingPublish | Status::Published) {
            let unsent = outbox::unsent_condition(ORDER_AGGREGATE, PLACED_VERSION, "orders.id");
            let condition = Expr::cust(unsent);
            query = query.filter(match status {
                Status::PendingPublish => condition,
                _ => condition.not(),
            });
        }
    }
    if let Some(customer_id) = filter.customer_id {
        query = query.filter(orders::Column::CustomerId.eq(customer_id));
    }
    if let Some(before) = filter.before {
        query = query.filter(orders::Column::Id.lt(before));
    }
    let orders = query.order_by_desc(orders::Column::Id).limit(limit).all(db).await?;
    views(db, orders).await
}

fn stored_as(status: Status) -> Expr {
    orders::Column::Status.eq(match status {
        Status::PendingPublish | Status::Published => Stored::Placed,
        Status::Confirmed => Stored::Confirmed,
        Status::Rejected => Stored::Rejected,
        Status::Cancelling => Stored::Cancelling,
        Status::Cancelled => Stored::Cancelled,
    })
}

async fn views(
    db: &DatabaseConnection,
    orders: Vec<orders::Model>,
) -> Result<Vec<OrderView>, DbErr> {
    let mut lines: HashMap<OrderId, Vec<LineView>> = HashMap::new();
    let rows = order_lines::Entity::find()
        .filter(order_lines::Column::OrderId.is_in(orders.iter().map(|order| order.id)))
        .order_by_asc(order_lines::Column::LineNo)
        .all(db)
        .await?;
    for row in rows {
        let line = LineView { sku: row.sku, quantity: row.quantity };
        lines.entry(row.order_id).or_default().push(line);
    }
    // Asked after the orders were read: a status never looks older than it is.
    let placed = orders.iter().filter(|order| order.status == Stored::Placed);
    let ids: Vec<_> = placed.map(|order| order.id.to_string()).collect();
    let unsent = outbox::unsent_ids(db, ORDER_AGGREGATE, PLACED_VERSION, &ids).await?;
    let view = |order: orders::Model| OrderView {
        order_id: order.id,
        customer_id: order.customer_id,
        status: Status::of(order.status, unsent.contains(&order.id.to_string())),
        lines: lines.remove(&order.id).unwrap_or_default(),
        rejection: order.rejection,
        version: order.version,
        created_at: order.created_at,
        updated_at: order.updated_at,
    };
    Ok(orders.into_iter().map(view).collect())
}
