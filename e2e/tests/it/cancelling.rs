//! Cancelling orders.

use e2e::{Part, Shop, message, on_both, order_of};
use reqwest::StatusCode;
use serde_json::{Value, json};
use test_kit::eventually;

on_both!(
    cancelling_a_confirmed_order_releases_its_stock,
    a_cancel_before_the_order_is_published_still_converges,
    a_cancel_that_overtakes_its_order_leaves_nothing_reserved,
    an_order_can_be_cancelled_once_and_never_after_a_rejection,
);

async fn cancel(shop: &Shop, id: &str) -> (StatusCode, Value) {
    shop.orders().post(&format!("/orders/{id}/cancel"), &Value::Null).await
}

async fn cancelling_a_confirmed_order_releases_its_stock(shop: Shop) {
    let id = shop.place(&order_of(&[("KEYBOARD", 2), ("MOUSE", 1)])).await;
    shop.order_becomes(&id, "Confirmed").await;
    let (status, body) = cancel(&shop, &id).await;
    assert_eq!(status, StatusCode::ACCEPTED);
    assert_eq!(body, json!({"orderId": id, "status": "Cancelling"}));
    shop.order_becomes(&id, "Cancelled").await;
    assert_eq!(shop.reserved("KEYBOARD").await, 0);
    let (_, reservation) = shop.inventory().get(&format!("/reservations/{id}")).await;
    assert_eq!(reservation["status"], "Released");
    shop.is_consistent().await;
}

async fn a_cancel_before_the_order_is_published_still_converges(mut shop: Shop) {
    shop.kill(Part::OrdersRelay);
    let id = shop.place(&order_of(&[("MOUSE", 1)])).await;
    assert_eq!(cancel(&shop, &id).await.0, StatusCode::ACCEPTED);
    shop.start(Part::OrdersRelay, &[]);
    shop.order_becomes(&id, "Cancelled").await;
    shop.is_consistent().await;
}

async fn a_cancel_that_overtakes_its_order_leaves_nothing_reserved(mut shop: Shop) {
    shop.kill(Part::OrdersRelay);
    let id = shop.place(&order_of(&[("MOUSE", 1)])).await;
    assert_eq!(cancel(&shop, &id).await.0, StatusCode::ACCEPTED);
    // Our relay never lets this happen; another program may: the cancel alone, before its order.
    let cancelled = json!({"orderId": id, "cancelledAt": "2026-11-30T12:00:00Z"});
    shop.publish(&[message("OrderCancelled", "order.cancelled", &cancelled)]).await;
    shop.order_becomes(&id, "Cancelled").await;

    shop.start(Part::OrdersRelay, &[]);
    eventually("order and cancel have arrived late", || async {
        shop.count(&shop.inventory_db, "inbox_messages").await == 3
    })
    .await;
    shop.is_consistent().await;
    assert_eq!(shop.reserved("MOUSE").await, 0);
    let (_, reservation) = shop.inventory().get(&format!("/reservations/{id}")).await;
    assert_eq!(reservation, json!({"orderId": id, "status": "Released", "lines": []}));
}

async fn an_order_can_be_cancelled_once_and_never_after_a_rejection(shop: Shop) {
    let id = shop.place(&order_of(&[("MOUSE", 1)])).await;
    assert_eq!(cancel(&shop, &id).await.0, StatusCode::ACCEPTED);
    assert_eq!(cancel(&shop, &id).await.0, StatusCode::CONFLICT);
    shop.order_becomes(&id, "Cancelled").await;
    assert_eq!(cancel(&shop, &id).await.0, StatusCode::CONFLICT);

    let id = shop.place(&order_of(&[("LAPTOP", 99)])).await;
    shop.order_becomes(&id, "Rejected").await;
    assert_eq!(cancel(&shop, &id).await.0, StatusCode::CONFLICT);

    let nobody = "0192b3c4-0000-7000-8000-000000000000";
    assert_eq!(cancel(&shop, nobody).await.0, StatusCode::NOT_FOUND);
    assert_eq!(cancel(&shop, "42").await.0, StatusCode::BAD_REQUEST);
}
