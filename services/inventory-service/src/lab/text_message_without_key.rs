//! A call to the outside world without an idempotency key: no inbox can take it back when the transaction
//! around it is rolled back and tried again, and the other side can't know that it is the same.

use contracts::OrderId;

pub(super) fn key(_order_id: OrderId) -> Option<String> {
    None
}
