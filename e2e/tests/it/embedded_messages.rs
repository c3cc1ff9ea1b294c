//! Messages of an embedded shop that come twice, that nobody can read, that are dead: what the page's
//! calls do about them.

use e2e::Embedded;
use reqwest::{Method, StatusCode};
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};
use test_kit::{eventually, eventually_some};

fn shop() -> (tempfile::TempDir, Embedded) {
    let folder = tempfile::tempdir().expect("a folder");
    let shop = Embedded::open(folder.path(), &[]);
    (folder, shop)
}

async fn post(shop: &Embedded, path: &str, body: Value) -> (StatusCode, Value) {
    shop.api(10).post(path, &body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_delivered_again_is_a_known_duplicate_and_has_its_effect_once() {
    let (_folder, shop) = shop();
    let order = shop.is_confirmed().await;
    shop.counter_becomes("duplicates", 0).await;
    for (index, outbox) in ["ordersOutbox", "inventoryOutbox"].into_iter().enumerate() {
        let id = shop.message_about(outbox, &order).await;
        let (status, body) =
            post(&shop, &format!("/api/messages/{id}/redeliver"), Value::Null).await;
        assert_eq!(status, StatusCode::ACCEPTED, "{body}");
        shop.counter_becomes("duplicates", u64::try_from(index + 1).expect("small")).await;
    }
    let snapshot = shop.snapshot().await;
    for table in ["reservations", "orders", "inventoryOutbox", "ordersInbox"] {
        assert_eq!(snapshot["tables"][table]["total"], 1, "{table}");
    }
    assert_eq!(shop.api(1).get("/stock/MOUSE").await.1["reserved"], 1);

    let unknown = "01a22d9d-4680-713e-b1c5-ecef9d158a5d";
    for (id, refusal) in [(unknown, StatusCode::NOT_FOUND), ("7", StatusCode::BAD_REQUEST)] {
        let (status, _) = post(&shop, &format!("/api/messages/{id}/redeliver"), Value::Null).await;
        assert_eq!(status, refusal, "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_nobody_can_read_is_parked_and_discarded_through_the_page() {
    let (_folder, shop) = shop();
    let (status, body) = post(&shop, "/api/poison", Value::Null).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{body}");
    let page = shop.api(10);
    let parked = eventually_some("it is parked", || async {
        let (_, list) = page.get("/api/parked/inventory?state=parked").await;
        list["items"][0].is_object().then(|| list["items"][0].clone())
    })
    .await;
    assert_eq!(parked["reason"], "malformed_body");
    shop.counter_becomes("parked", 1).await;
    shop.is_confirmed().await; // those behind it flow

    let path = format!("/api/parked/inventory/{}", parked["parkedId"].as_str().expect("an id"));
    let (status, problem) = post(&shop, &format!("{path}/retry"), json!({})).await;
    assert_eq!(status, StatusCode::CONFLICT, "it still can't be read: {problem}");
    let reason = json!({"reason": "poison"});
    let (status, body) = post(&shop, &format!("{path}/discard"), reason).await;
    assert_eq!((status, &body["state"]), (StatusCode::OK, &json!("discarded")));
    shop.counter_becomes("parked", 0).await;
    let (_, details) = page.get(&path).await;
    assert_eq!(details["actions"][0]["actor"], "page", "it is written down who did it");
    assert_eq!(page.get("/api/parked/orders").await.1["items"], json!([]));
}

/// An order whose message no relay can make, given up. Returns the ids of both.
async fn dead(shop: &Embedded, db: &impl ConnectionTrait) -> (String, String) {
    shop.freeze("orders-relay").await;
    let order = shop.place().await;
    let id = shop.message_about("ordersOutbox", &order).await;
    let spoil = format!("UPDATE outbox_messages SET headers = '[]' WHERE message_id = '{id}'");
    db.execute_unprepared(&spoil).await.expect("spoilt");
    let thawed = post(shop, "/api/processes/orders-relay/thaw", Value::Null).await;
    assert_eq!(thawed.0, StatusCode::NO_CONTENT);
    let page = shop.api(10);
    eventually("it is dead", || async {
        let (_, list) = page.get("/api/outbox/orders?state=dead").await;
        list["items"][0]["messageId"] == id.as_str()
    })
    .await;
    (order, id)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_message_is_retried_or_discarded_through_the_page() {
    let (folder, shop) = shop();
    let url = format!("sqlite://{}", folder.path().join("orders.db").display());
    let db = test_kit::connect(&url).expect("a pool");
    let (order, id) = dead(&shop, &db).await;
    shop.counter_becomes("dead", 1).await;
    let repair = "UPDATE outbox_messages SET headers = '{}'";
    db.execute_unprepared(repair).await.expect("repaired");
    let (status, body) = post(&shop, &format!("/api/outbox/orders/{id}/retry"), json!({})).await;
    assert_eq!((status, &body["state"]), (StatusCode::OK, &json!("pending")));
    shop.becomes_confirmed(&order).await;

    let (_, id) = dead(&shop, &db).await;
    let reason = json!({"reason": "made by mistake"});
    let path = format!("/api/outbox/orders/{id}");
    let (status, body) = post(&shop, &format!("{path}/discard"), reason).await;
    assert_eq!((status, &body["state"]), (StatusCode::OK, &json!("discarded")));
    shop.counter_becomes("dead", 0).await;
    let (_, details) = shop.api(10).get(&path).await;
    assert_eq!(details["actions"][0]["actor"], "page");
    assert_eq!(shop.api(10).get("/api/outbox/inventory").await.0, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_lends_its_token_to_no_other_calls() {
    let (_folder, shop) = shop();
    for path in ["/api/outbox/nobody", "/api/outbox/orders/%2e%2e/%2e%2e/lab/abort", "/api/parked"]
    {
        let answer = shop.api(10).request(Method::POST, path).send().await.expect("an answer");
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
    }
}
