//! What the shop's services tell each other: events, typed values, names of queues.
//!
//! A value of these types is valid: parsing happens at the edge, once.

mod customer_id;
mod events;
mod lines;
mod order_id;
mod quantity;
mod sku;
mod topology;

pub use customer_id::{CustomerId, InvalidCustomerId};
pub use events::{
    Event, OrderCancelled, OrderPlaced, RejectionReason, Shortage, StockRejected, StockReleased,
    StockReserved,
};
pub use lines::{InvalidLines, Line, Lines};
pub use order_id::{InvalidOrderId, OrderId};
pub use quantity::{InvalidQuantity, Quantity};
pub use sku::{InvalidSku, Sku};
pub use topology::{
    ORDER_AGGREGATE, ORDER_EVENTS_QUEUE, RESERVATION_AGGREGATE, STOCK_EVENTS_QUEUE, topology,
};
