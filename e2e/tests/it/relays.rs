//! Several relays, frozen relays, relays that are told to stop.

use e2e::{Part, Shop, on_both, order_of};
use serde_json::Value;
use test_kit::{Backing, eventually};

on_both!(
    several_relays_share_the_work_and_double_nothing,
    a_relay_that_was_frozen_past_its_lease_changes_nothing,
    a_relay_that_is_told_to_stop_leaves_no_claims,
);

async fn several_relays_share_the_work_and_double_nothing(shop: Shop) {
    let _more = [
        shop.start_another(Part::OrdersRelay, &[]),
        shop.start_another(Part::OrdersRelay, &[("RELAY_BATCH_SIZE", "1")]),
        shop.start_another(Part::InventoryRelay, &[]),
    ];
    for _ in 0..40 {
        let id = shop.place(&order_of(&[("KEYBOARD", 1)])).await;
        let (status, _) = shop.orders().post(&format!("/orders/{id}/cancel"), &Value::Null).await;
        assert_eq!(status.as_u16(), 202);
    }
    shop.is_consistent().await;
    assert_eq!(shop.count(&shop.orders_db, "orders WHERE status = 'Cancelled'").await, 40);
    assert_eq!(shop.count(&shop.inventory_db, "inbox_messages").await, 80);
}

async fn a_relay_that_was_frozen_past_its_lease_changes_nothing(mut shop: Shop) {
    let outage = shop.broker_goes_away().await;
    let id = shop.place(&order_of(&[("MOUSE", 1)])).await;
    if shop.storage.backing == Backing::Embedded {
        // With a claim in hand, waiting for the broker. Frozen a moment earlier, in the middle of its
        // own write, it would keep SQLite's one write lock and with it everybody else.
        let claimed = "outbox_messages WHERE claim_token IS NOT NULL";
        eventually("it has a claim", || async { shop.count(&shop.orders_db, claimed).await == 1 })
            .await;
    }
    shop.process(Part::OrdersRelay).freeze().await;
    while !shop.orders_can_be_written().await {
        shop.process(Part::OrdersRelay).signal("CONT");
        shop.process(Part::OrdersRelay).freeze().await;
    }
    outage.end().await;
    let _second = shop.start_another(Part::OrdersRelay, &[]);
    shop.order_becomes(&id, "Confirmed").await;
    shop.process(Part::OrdersRelay).signal("CONT");
    let next = shop.place(&order_of(&[("MOUSE", 1)])).await;
    shop.order_becomes(&next, "Confirmed").await;
    shop.is_consistent().await;
    assert_eq!(shop.reserved("MOUSE").await, 2);
}

async fn a_relay_that_is_told_to_stop_leaves_no_claims(mut shop: Shop) {
    for _ in 0..30 {
        shop.place(&order_of(&[("KEYBOARD", 1)])).await;
    }
    shop.process(Part::OrdersRelay).signal("TERM");
    let relay = shop.process(Part::OrdersRelay);
    eventually("the relay has stopped", || std::future::ready(relay.has_ended())).await;
    let claimed = "outbox_messages WHERE status = 'Pending' AND claim_token IS NOT NULL";
    assert_eq!(shop.count(&shop.orders_db, claimed).await, 0);
    shop.start(Part::OrdersRelay, &[]);
    shop.is_consistent().await;
}
