//! What travels beside the body: the trace, and what makes a message a CloudEvent.

use database::Dialect;
use e2e::{Shop, on_both, order_of};
use sea_orm::{ConnectionTrait, DatabaseConnection};
use serde_json::{Value, json};
use test_kit::eventually;
use transport::{Message, Settlement};

on_both!(
    the_trace_of_a_request_goes_on_through_every_message_that_follows_from_it,
    a_request_without_a_readable_trace_is_accepted_and_begins_one,
    a_message_with_a_broken_trace_is_processed_and_its_reply_begins_one,
);

const TRACE_ID: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// The trace id and the span id.
fn ids(headers: &Value) -> (String, String) {
    let parent = headers["traceparent"].as_str().expect("a traceparent");
    let fields: Vec<_> = parent.split('-').collect();
    assert_eq!((fields.len(), fields[0]), (4, "00"), "{parent}");
    (fields[1].to_owned(), fields[2].to_owned())
}

/// The headers of the one message of a type, as its outbox has them.
async fn stored(db: &DatabaseConnection, kind: &str) -> Value {
    let sql = "SELECT CAST(headers AS text) AS headers FROM outbox_messages WHERE type = $1";
    let rows = db.query_all_raw(Dialect::of(db).statement(sql, [kind.into()])).await;
    let rows = rows.expect("rows");
    assert_eq!(rows.len(), 1, "{kind}");
    let text: String = rows[0].try_get("", "headers").expect("text");
    serde_json::from_str(&text).expect("JSON")
}

/// The next message that went through the broker.
async fn next(tap: &mut Box<dyn transport::Consumer>) -> Message {
    let delivery = tap.next().await.expect("a message");
    let message = delivery.message.clone();
    delivery.settle(Settlement::Ack).await.expect("settled");
    message
}

async fn the_trace_of_a_request_goes_on_through_every_message_that_follows_from_it(shop: Shop) {
    let mut tap = shop.tap().await;
    let headers = [("traceparent", PARENT), ("tracestate", "vendor=note")];
    let order = order_of(&[("MOUSE", 1)]);
    let response = shop.orders().try_post("/orders", &order, &headers).await.expect("an answer");
    let body: Value = response.json().await.expect("JSON");
    let id = body["orderId"].as_str().expect("an id");
    shop.order_becomes(id, "Confirmed").await;

    let (placed, reserved) = (next(&mut tap).await, next(&mut tap).await);
    let mut spans = vec!["b7ad6b7169203331".to_owned()];
    for (message, kind, db, source) in [
        (placed, "OrderPlaced", &shop.orders_db, "/order-service"),
        (reserved, "StockReserved", &shop.inventory_db, "/inventory-service"),
    ] {
        assert_eq!(message.properties.kind.as_deref(), Some(kind));
        let stored = stored(db, kind).await;
        let (trace, span) = ids(&stored);
        assert_eq!(trace, TRACE_ID, "{kind}");
        spans.push(span);
        assert_eq!(stored["tracestate"], "vendor=note", "{kind}");
        for name in ["traceparent", "tracestate"] {
            assert_eq!(message.headers[name], stored[name], "{kind}: sent as it is stored");
        }
        assert_eq!(message.headers["cloudEvents:specversion"], "1.0");
        assert_eq!(message.headers["cloudEvents:source"], source);
        assert_eq!(message.headers["cloudEvents:subject"], id);
        assert_eq!(message.headers["cloudEvents:id"], json!(message.properties.message_id));
    }
    spans.sort();
    spans.dedup();
    assert_eq!(spans.len(), 3, "each step has an id of its own");
}

async fn a_request_without_a_readable_trace_is_accepted_and_begins_one(shop: Shop) {
    let headers = [("traceparent", "00-nonsense"), ("tracestate", "vendor=note")];
    let order = order_of(&[("MOUSE", 1)]);
    let response = shop.orders().try_post("/orders", &order, &headers).await.expect("an answer");
    assert_eq!(response.status(), 201);
    let body: Value = response.json().await.expect("JSON");
    shop.order_becomes(body["orderId"].as_str().expect("an id"), "Confirmed").await;

    let placed = stored(&shop.orders_db, "OrderPlaced").await;
    assert_eq!(placed.get("tracestate"), None);
    let reply = stored(&shop.inventory_db, "StockReserved").await;
    assert_eq!(ids(&placed).0, ids(&reply).0);
}

async fn a_message_with_a_broken_trace_is_processed_and_its_reply_begins_one(shop: Shop) {
    let id = contracts::OrderId::generate();
    let body = json!({"orderId": id, "customerId": "c-7", "placedAt": "2026-11-30T12:00:00Z",
        "lines": [{"sku": "MOUSE", "quantity": 2}]});
    let mut message = e2e::message("OrderPlaced", "order.placed", &body);
    message.headers.insert("traceparent".to_owned(), json!({"broken": [true]}));
    shop.publish(&[message]).await;

    eventually("it is reserved", || async { shop.reserved("MOUSE").await == 2 }).await;
    let (trace, _) = ids(&stored(&shop.inventory_db, "StockReserved").await);
    assert_eq!(trace.len(), 32);
}
