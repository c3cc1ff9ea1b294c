use transport::{Queue, Topology};

/// `aggregate_type` of messages about orders.
pub const ORDER_AGGREGATE: &str = "Order";

/// `aggregate_type` of messages about reservations.
pub const RESERVATION_AGGREGATE: &str = "Reservation";

/// Inventory's queue of what happened to orders.
pub const ORDER_EVENTS_QUEUE: &str = "inventory-service.orders";

/// The order service's queue of what happened to its reservations.
pub const STOCK_EVENTS_QUEUE: &str = "order-service.stock";

/// All exchanges and queues of the shop.
#[must_use]
pub fn topology() -> Topology {
    Topology {
        exchange: "shop.events".to_owned(),
        dead_letter_exchange: "shop.dead-letters".to_owned(),
        queues: vec![
            Queue::new(ORDER_EVENTS_QUEUE, "order.*"),
            Queue::new(STOCK_EVENTS_QUEUE, "stock.*"),
        ],
    }
}
