//! Messages that come from elsewhere, twice, or broken.

use contracts::OrderId;
use database::{Dialect, begin_write};
use e2e::{Shop, message, on_both, order_of};
use outbox::NewMessage;
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};
use test_kit::eventually;
use transport::Message;

on_both!(
    a_strangers_order_is_processed_and_twenty_copies_have_one_effect,
    what_cannot_be_read_is_parked_once_with_its_bytes_and_the_queue_flows_on,
    the_same_id_with_another_body_is_parked_and_has_no_effect,
    a_reply_for_an_unknown_order_is_parked_after_its_tries,
    an_unroutable_message_keeps_its_reason_and_holds_back_nobody_else,
);

fn placed(order_id: &str) -> Message {
    let body = json!({"orderId": order_id, "customerId": "c-7", "placedAt": "2026-11-30T12:00:00Z",
        "lines": [{"sku": "MOUSE", "quantity": 2}], "aFieldOfTomorrow": true});
    message("OrderPlaced", "order.placed", &body)
}

async fn a_strangers_order_is_processed_and_twenty_copies_have_one_effect(shop: Shop) {
    let id = OrderId::generate().to_string();
    shop.publish(&vec![placed(&id); 20]).await;
    // One that comes after them: when it is done, so are they.
    let last = OrderId::generate().to_string();
    shop.publish(&[placed(&last)]).await;
    let inventory = shop.inventory();
    eventually("the last one is reserved", || async {
        inventory.get(&format!("/reservations/{last}")).await.1["status"] == "Reserved"
    })
    .await;
    assert_eq!(shop.reserved("MOUSE").await, 4);
    assert_eq!(shop.count(&shop.inventory_db, "inbox_messages").await, 2);
    assert_eq!(shop.count(&shop.inventory_db, "outbox_messages").await, 2, "one reply each");
    assert_eq!(shop.count(&shop.inventory_db, "parked_messages").await, 0);
}

async fn what_cannot_be_read_is_parked_once_with_its_bytes_and_the_queue_flows_on(shop: Shop) {
    let good = || placed(&OrderId::generate().to_string());
    let broken = |change: fn(&mut Message)| {
        let mut message = good();
        change(&mut message);
        message
    };
    let cases = [
        ("malformed_message_id", broken(|m| m.properties.message_id = None)),
        ("malformed_message_id", broken(|m| m.properties.message_id = Some("42".to_owned()))),
        (
            "malformed_message_id",
            broken(|m| {
                m.properties.message_id = Some("00000000-0000-0000-0000-000000000000".to_owned());
            }),
        ),
        ("unknown_type", broken(|m| m.properties.kind = Some("OrderEaten".to_owned()))),
        ("unknown_type", broken(|m| m.properties.kind = None)),
        (
            "unsupported_version",
            broken(|m| {
                m.headers.insert("schema-version".to_owned(), 2.into());
            }),
        ),
        ("malformed_body", broken(|m| m.body = b"not json".to_vec())),
        ("malformed_body", broken(|m| m.body = vec![0, 159, 146, 150])),
        ("malformed_body", broken(|m| m.body = b"{}".to_vec())),
        ("malformed_body", broken(|m| m.body.clear())),
    ];
    for (_, message) in &cases {
        shop.publish(std::slice::from_ref(message)).await;
    }
    let order = shop.place(&order_of(&[("MOUSE", 1)])).await;
    shop.order_becomes(&order, "Confirmed").await;

    let sql = "SELECT reason, body FROM parked_messages ORDER BY parked_id";
    let statement = Dialect::of(&shop.inventory_db).statement(sql, []);
    let rows = shop.inventory_db.query_all_raw(statement).await.expect("parked messages");
    let parked: Vec<(String, Vec<u8>)> = rows
        .iter()
        .map(|row| {
            (row.try_get("", "reason").expect("text"), row.try_get("", "body").expect("bytes"))
        })
        .collect();
    let expected: Vec<(String, Vec<u8>)> =
        cases.into_iter().map(|(reason, message)| (reason.to_owned(), message.body)).collect();
    assert_eq!(parked, expected);
    assert_eq!(shop.reserved("MOUSE").await, 1);
}

async fn the_same_id_with_another_body_is_parked_and_has_no_effect(shop: Shop) {
    let first = placed(&OrderId::generate().to_string());
    let mut second = placed(&OrderId::generate().to_string());
    second.properties.message_id.clone_from(&first.properties.message_id);
    shop.publish(&[first]).await;
    shop.publish(&[second]).await;
    eventually("the second one is parked", || async {
        let parked = "parked_messages WHERE reason = 'duplicate_id_other_body'";
        shop.count(&shop.inventory_db, parked).await == 1
    })
    .await;
    assert_eq!(shop.reserved("MOUSE").await, 2);
}

async fn a_reply_for_an_unknown_order_is_parked_after_its_tries(shop: Shop) {
    let nobody =
        json!({"orderId": OrderId::generate(), "lines": [{"sku": "MOUSE", "quantity": 1}]});
    shop.publish(&[message("StockReserved", "stock.reserved", &nobody)]).await;
    let order = shop.place(&order_of(&[("MOUSE", 1)])).await;
    shop.order_becomes(&order, "Confirmed").await;
    eventually("it is parked", || async {
        let parked = "parked_messages WHERE reason = 'handler_failed'";
        shop.count(&shop.orders_db, parked).await == 1
    })
    .await;
    assert_eq!(shop.count(&shop.orders_db, "inbox_messages").await, 1);
}

async fn an_unroutable_message_keeps_its_reason_and_holds_back_nobody_else(shop: Shop) {
    let tx = begin_write(&shop.orders_db).await.expect("a transaction");
    let message = NewMessage::new("Parcel", "p-1", 1, "ParcelLost", &Value::Null).expect("JSON");
    outbox::append(&tx, message).await.expect("a row");
    tx.commit().await.expect("a commit");

    let order = shop.place(&order_of(&[("MOUSE", 1)])).await;
    shop.order_becomes(&order, "Confirmed").await;
    let waiting = "outbox_messages WHERE type = 'ParcelLost' AND status = 'Pending' \
        AND last_error LIKE 'unroutable%' AND retry_count = 0";
    eventually("it waits with its reason", || async {
        shop.count(&shop.orders_db, waiting).await == 1
    })
    .await;
}
