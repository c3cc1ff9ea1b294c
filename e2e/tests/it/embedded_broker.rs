//! The broker of an embedded shop, stopped and started by the page.

use e2e::Embedded;
use reqwest::StatusCode;
use serde_json::{Value, json};
use test_kit::eventually;

async fn tell(shop: &Embedded, control: &str) -> (StatusCode, Value) {
    shop.api(10).post(&format!("/api/broker/{control}"), &Value::Null).await
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_are_taken_while_the_broker_is_stopped_and_confirmed_after_its_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let shop = Embedded::open(folder.path(), &[]);
    shop.is_confirmed().await;
    let snapshot = shop.snapshot().await;
    let running = json!({"state": "running", "can": ["stop", "start"], "command": null});
    assert_eq!(snapshot["broker"], running);

    assert_eq!(tell(&shop, "stop").await.0, StatusCode::NO_CONTENT);
    let (status, problem) = tell(&shop, "stop").await;
    assert_eq!(status, StatusCode::CONFLICT, "{problem}");
    let mut orders = vec![shop.place().await];
    eventually("the relay says what is wrong", || async {
        let (status, health) = shop.api(2).get("/health/ready").await;
        let broker = health["checks"]["broker"].as_str().unwrap_or_default().to_owned();
        status == StatusCode::SERVICE_UNAVAILABLE && broker.contains("the broker is stopped")
    })
    .await;
    eventually("the page says so too", || async {
        shop.snapshot().await["broker"]["state"] == "stopped"
    })
    .await;
    shop.stop("TERM").await;

    let shop = Embedded::open(folder.path(), &[]);
    assert_eq!(shop.snapshot().await["broker"]["state"], "stopped", "it is written down");
    orders.push(shop.place().await);
    shop.counter_becomes("ordersBacklog", 2).await;

    assert_eq!(tell(&shop, "start").await.0, StatusCode::NO_CONTENT);
    assert_eq!(tell(&shop, "start").await.0, StatusCode::CONFLICT);
    for order in orders {
        shop.becomes_confirmed(&order).await;
    }
    nothing_paid_for_the_outage(&shop).await;
}

async fn nothing_paid_for_the_outage(shop: &Embedded) {
    eventually("all is sent and acknowledged", || async {
        let snapshot = shop.snapshot().await;
        let counters = &snapshot["counters"];
        counters["ordersBacklog"] == 0
            && counters["inventoryBacklog"] == 0
            && snapshot["tables"]["queueMessages"]["total"] == 0
    })
    .await;
    let snapshot = shop.snapshot().await;
    assert_eq!(
        (&snapshot["counters"]["dead"], &snapshot["counters"]["parked"]),
        (&json!(0), &json!(0))
    );
    for table in ["ordersOutbox", "inventoryOutbox"] {
        let table = &snapshot["tables"][table];
        let columns = table["columns"].as_array().expect("columns");
        let tries = columns.iter().position(|column| column == "tries").expect("tries");
        let rows = table["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), 3);
        assert!(rows.iter().all(|row| row[tries] == 0), "no try was burnt: {rows:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_shows_what_waits_in_the_queues_and_who_has_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let shop = Embedded::open(folder.path(), &[]);
    shop.is_confirmed().await; // so that the consumer is there
    shop.freeze("inventory-service").await;
    let order = shop.place().await;
    let name = "inventory-service.orders";
    eventually("the message is in the queue", || async {
        let snapshot = shop.snapshot().await;
        let queues = snapshot["queues"].as_array().expect("queues");
        let queue = queues.iter().find(|queue| queue["queue"] == name).cloned().unwrap_or_default();
        let messages = &snapshot["tables"]["queueMessages"];
        let columns = json!(["queue", "messageId", "type", "aggregateId", "deliveries", "leased"]);
        let row = &messages["rows"][0];
        queue["ready"] == 1
            && queue["unacked"] == 0
            && messages["columns"] == columns
            && (&row[0], &row[2], &row[3]) == (&json!(name), &json!("OrderPlaced"), &json!(order))
            && row[1].is_string()
            && (&row[4], &row[5]) == (&json!(0), &json!(false))
    })
    .await;
    let thawed = shop.api(10).post("/api/processes/inventory-service/thaw", &Value::Null).await;
    assert_eq!(thawed.0, StatusCode::NO_CONTENT);
    shop.becomes_confirmed(&order).await;
}
