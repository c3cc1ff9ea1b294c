//! Each process dies at each of its crash points (see the crate `crash-points`), and nothing is
//! lost or doubled.

use e2e::{Part, Shop, on_both, order_of};
use reqwest::StatusCode;
use serde_json::Value;

on_both!(
    wherever_the_order_service_dies_the_retry_with_the_same_key_ends_in_one_order,
    wherever_a_relay_dies_its_message_has_one_effect,
    wherever_the_inventory_service_dies_the_order_is_reserved_once,
    wherever_the_order_service_dies_over_a_result_the_order_gets_its_status,
    killing_each_process_in_turn_under_load_loses_and_doubles_nothing,
);

async fn wherever_the_order_service_dies_the_retry_with_the_same_key_ends_in_one_order(
    mut shop: Shop,
) {
    let order = order_of(&[("MOUSE", 1)]);
    for (orders, (point, replayed)) in
        (1..).zip([("C1", false), ("C2", false), ("C3", false), ("C5", true)])
    {
        let key = [("Idempotency-Key", point)];
        shop.start(Part::Orders, &[("CRASH_AT", point)]);
        let answer = shop.orders().try_post("/orders", &order, &key).await;
        assert!(answer.is_err(), "{point}: the service died and yet answered");
        shop.has_crashed(Part::Orders).await;

        shop.start(Part::Orders, &[]);
        let answer = shop.orders().try_post("/orders", &order, &key).await.expect("an answer");
        assert_eq!(answer.status(), StatusCode::CREATED, "{point}");
        let was_replayed = answer.headers().contains_key("idempotent-replayed");
        assert_eq!(was_replayed, replayed, "{point}");
        assert_eq!(shop.count(&shop.orders_db, "orders").await, orders, "{point}");
        shop.is_consistent().await;
    }
    assert_eq!(shop.reserved("MOUSE").await, 4);
}

async fn wherever_a_relay_dies_its_message_has_one_effect(mut shop: Shop) {
    for part in [Part::OrdersRelay, Part::InventoryRelay] {
        for point in ["C6", "C8", "C10"] {
            shop.start(part, &[("CRASH_AT", point)]);
            let id = shop.place(&order_of(&[("MOUSE", 1)])).await;
            shop.has_crashed(part).await;
            shop.start(part, &[]);
            shop.order_becomes(&id, "Confirmed").await;
        }
    }
    shop.is_consistent().await;
    assert_eq!(shop.reserved("MOUSE").await, 6);
    assert_eq!(shop.count(&shop.inventory_db, "inbox_messages").await, 6);
    assert_eq!(shop.count(&shop.orders_db, "inbox_messages").await, 6);
}

async fn wherever_the_inventory_service_dies_the_order_is_reserved_once(mut shop: Shop) {
    let points = ["C11", "C12", "C13", "C14", "C15", "C16", "C17"];
    for (orders, point) in (1..).zip(points) {
        shop.start(Part::Inventory, &[("CRASH_AT", point)]);
        let id = shop.place(&order_of(&[("MOUSE", 1)])).await;
        shop.has_crashed(Part::Inventory).await;
        let received = shop.count(&shop.inventory_db, "inbox_messages").await;
        match point {
            "C16" => assert_eq!(received, orders, "{point}: committed"),
            // It may have died over the redelivery of the message before.
            "C17" => assert!((orders - 1..=orders).contains(&received), "{point}: {received}"),
            _ => assert_eq!(received, orders - 1, "{point}: rolled back"),
        }
        for table in ["reservations", "reservation_lines", "outbox_messages"] {
            let rows = shop.count(&shop.inventory_db, table).await;
            assert_eq!(rows, received, "{point}: {table} stand or fall with the inbox row");
        }
        shop.start(Part::Inventory, &[]);
        shop.order_becomes(&id, "Confirmed").await;
    }
    shop.is_consistent().await;
    assert_eq!(shop.reserved("MOUSE").await, 7);
    assert_eq!(shop.count(&shop.inventory_db, "outbox_messages").await, 7, "one reply each");
}

async fn wherever_the_order_service_dies_over_a_result_the_order_gets_its_status(mut shop: Shop) {
    for point in ["C18", "C19", "C20", "C21", "C22", "C23"] {
        shop.start(Part::Orders, &[("CRASH_AT", point)]);
        let order = order_of(&[("MOUSE", 1)]);
        let answer = shop.orders().try_post("/orders", &order, &[]).await;
        shop.has_crashed(Part::Orders).await;
        shop.start(Part::Orders, &[]);
        let id = match order_id(answer).await {
            Some(id) => id,
            // C23: it has died over the redelivery of the message before, which C22 left unacknowledged.
            None => shop.place(&order).await,
        };
        let order = shop.order_becomes(&id, "Confirmed").await;
        assert_eq!(order["version"], 2, "{point}: changed once");
    }
    shop.is_consistent().await;
}

/// The order that an answer names, if there was one to its end.
async fn order_id(answer: reqwest::Result<reqwest::Response>) -> Option<String> {
    let body: Value = answer.ok()?.json().await.ok()?;
    body["orderId"].as_str().map(str::to_owned)
}

async fn killing_each_process_in_turn_under_load_loses_and_doubles_nothing(mut shop: Shop) {
    let mut accepted = Vec::new();
    for (n, part) in Part::ALL.into_iter().cycle().take(8).enumerate() {
        for order in 0..6 {
            if order == 3 {
                shop.kill(part);
                shop.start(part, &[]);
            }
            let key = format!("{n}-{order}");
            let (api, body) = (shop.orders(), order_of(&[("KEYBOARD", 1), ("MONITOR", 1)]));
            let answer = api.try_post("/orders", &body, &[("Idempotency-Key", &key)]).await;
            accepted.push(order_id(answer).await.expect("an order"));
        }
    }
    shop.is_consistent().await;
    for id in &accepted {
        let (_, order) = shop.orders().get(&format!("/orders/{id}")).await;
        assert_eq!(order["status"], "Confirmed", "{order}");
    }
    assert_eq!(shop.reserved("KEYBOARD").await, 48);
}
