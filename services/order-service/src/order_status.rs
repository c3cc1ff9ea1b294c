//! The states of an order, and what leads from one to the next.

use crate::entity::orders::{Rejection, Stored};
use crate::stock_results::StockEvent;

/// What an answer of inventory makes of an order. `None`: it comes too late and changes nothing. While
/// an order is being cancelled, only `StockReleased` counts. That one counts in every state that still
/// hopes for stock, so that the two services always come to agree, whoever sent the cancel.
pub(crate) fn after(status: Stored, event: &StockEvent) -> Option<(Stored, Option<Rejection>)> {
    match (status, event) {
        (Stored::Placed, StockEvent::Reserved(_)) => Some((Stored::Confirmed, None)),
        (Stored::Placed, StockEvent::Rejected(rejected)) => {
            let rejection =
                Rejection { reason: rejected.reason, shortages: rejected.shortages.clone() };
            Some((Stored::Rejected, Some(rejection)))
        }
        (Stored::Placed | Stored::Confirmed | Stored::Cancelling, StockEvent::Released(_)) => {
            Some((Stored::Cancelled, None))
        }
        _ => None,
    }
}

/// It is in this state, and can't be cancelled.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotCancellable(pub(crate) &'static str);

/// What a cancel makes of an order.
pub(crate) fn after_cancel(status: Stored) -> Result<Stored, NotCancellable> {
    match status {
        Stored::Placed | Stored::Confirmed => Ok(Stored::Cancelling),
        Stored::Rejected => Err(NotCancellable("Rejected")),
        Stored::Cancelling => Err(NotCancellable("Cancelling")),
        Stored::Cancelled => Err(NotCancellable("Cancelled")),
    }
}

#[cfg(test)]
mod tests {
    use contracts::{OrderId, RejectionReason, StockRejected, StockReleased};
    use proptest::prelude::{Just, Strategy, prop_assert, prop_assert_eq, prop_oneof, proptest};

    use super::*;

    /// What may happen to an order, in any order and any number of times.
    #[derive(Debug, Clone)]
    enum Happening {
        Cancel,
        Stock(StockEvent),
    }

    fn happening() -> impl Strategy<Value = Happening> {
        let order_id = OrderId::generate();
        let lines = serde_json::json!([{"sku": "MOUSE", "quantity": 1}]);
        let reserved = serde_json::json!({"orderId": order_id, "lines": lines});
        let reserved = serde_json::from_value(reserved).expect("an event");
        let reason = RejectionReason::OutOfStock;
        let rejected = StockRejected { order_id, reason, shortages: vec![] };
        prop_oneof![
            Just(Happening::Cancel),
            Just(Happening::Stock(StockEvent::Reserved(reserved))),
            Just(Happening::Stock(StockEvent::Rejected(rejected))),
            Just(Happening::Stock(StockEvent::Released(StockReleased { order_id }))),
        ]
    }

    fn next(status: Stored, happening: &Happening) -> Stored {
        match happening {
            Happening::Cancel => after_cancel(status).unwrap_or(status),
            Happening::Stock(event) => after(status, event).map_or(status, |(status, _)| status),
        }
    }

    /// How far an order has come, as a client sees it.
    fn rank(status: Stored) -> u8 {
        match status {
            Stored::Placed => 0,
            Stored::Confirmed | Stored::Rejected => 1,
            Stored::Cancelling => 2,
            Stored::Cancelled => 3,
        }
    }

    proptest! {
        #[test]
        fn a_status_never_goes_back_and_an_end_is_an_end(
            happenings in proptest::collection::vec(happening(), 0..12)
        ) {
            let mut status = Stored::Placed;
            for happening in &happenings {
                let new = next(status, happening);
                prop_assert!(new == status || rank(new) > rank(status), "{status:?} {new:?}");
                if matches!(status, Stored::Rejected | Stored::Cancelled) {
                    prop_assert_eq!(new, status);
                }
                let released = matches!(happening, Happening::Stock(StockEvent::Released(_)));
                prop_assert!(new != Stored::Cancelled || status == new || released);
                prop_assert_eq!(next(new, happening), new, "once more changes nothing");
                status = new;
            }
        }

        #[test]
        fn whatever_came_before_a_release_ends_a_cancel(
            happenings in proptest::collection::vec(happening(), 0..12)
        ) {
            let status = happenings.iter().fold(Stored::Placed, next_of);
            if after_cancel(status).is_ok() || status == Stored::Cancelling {
                let released = StockReleased { order_id: OrderId::generate() };
                let release = Happening::Stock(StockEvent::Released(released));
                let cancelled = next(next(status, &Happening::Cancel), &release);
                prop_assert_eq!(cancelled, Stored::Cancelled);
            }
        }
    }

    fn next_of(status: Stored, happening: &Happening) -> Stored {
        next(status, happening)
    }
}
