//! `playground page`: the page beside services that run elsewhere.

use e2e::{Api, Part, Shop, on_both, order_of};
use reqwest::{Method, StatusCode};
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};
use test_kit::{Backing, eventually};

on_both!(
    the_page_alone_shows_the_rows_of_services_elsewhere_and_passes_orders_on,
    the_page_alone_shows_how_each_process_is_and_when_it_is_back,
);

fn process(snapshot: &Value, name: &str) -> Value {
    let processes = snapshot["processes"].as_array().expect("processes");
    processes.iter().find(|process| process["name"] == name).expect(name).clone()
}

async fn becomes(page: &Api, name: &str, state: &str) -> Value {
    let what = format!("the page shows that {name} is {state}");
    test_kit::eventually_some(&what, || async {
        let shown = process(&page.snapshot().await, name);
        (shown["state"] == state).then_some(shown)
    })
    .await
}

async fn the_page_alone_shows_the_rows_of_services_elsewhere_and_passes_orders_on(shop: Shop) {
    let running = shop.start_page().await;
    assert_eq!(running.healthcheck(), (Some(0), "ready".to_owned()));
    let page = Api::new(running.url());
    let by_name = page.request(Method::GET, "/").header("Host", "shop.example:9000").send().await;
    assert_eq!(by_name.expect("an answer").status(), StatusCode::OK, "behind a published port");

    let (status, body) = page.post("/api/orders", &order_of(&[("MOUSE", 1)])).await;
    assert_eq!(status, StatusCode::CREATED);
    eventually("the page shows the confirmed order", || async {
        let snapshot = page.snapshot().await;
        let order = &snapshot["tables"]["orders"]["rows"][0];
        order[0] == body["orderId"] && order[2] == "Confirmed"
    })
    .await;
    let snapshot = page.snapshot().await;
    assert_eq!(snapshot["errors"], json!([]));
    for table in ["ordersOutbox", "inventoryOutbox", "ordersInbox", "reservations"] {
        assert_eq!(snapshot["tables"][table]["total"], 1, "{table}");
    }
    assert_eq!(snapshot["tables"]["parked"]["total"], 0);
    let queues = snapshot["queues"].as_array().expect("queues");
    assert!(queues.iter().any(|queue| queue["queue"] == "order-service.stock"), "{queues:?}");
    for name in ["order-service", "inventory-service", "orders relay", "inventory relay"] {
        let shown = becomes(&page, name, "ready").await;
        let known: Vec<_> = shown.as_object().expect("an object").keys().collect();
        assert_eq!(
            known,
            ["can", "command", "id", "name", "state", "url"],
            "nothing that only a parent knows"
        );
    }
    its_users_can_not_write(&shop).await;
}

/// Else this file would prove less than it says.
async fn its_users_can_not_write(shop: &Shop) {
    if shop.storage.backing == Backing::Embedded {
        return; // files have no users
    }
    let url = shop.onlooker().await.expect("a user").by(shop.database_url(Part::Orders));
    let db = test_kit::connect(&url).expect("a pool");
    let refused = db.execute_unprepared("DELETE FROM orders").await.expect_err("refused");
    assert!(refused.to_string().contains("permission denied"), "{refused}");
}

async fn the_page_alone_shows_how_each_process_is_and_when_it_is_back(mut shop: Shop) {
    let running = shop.start_page().await;
    let page = Api::new(running.url());
    becomes(&page, "order-service", "ready").await;

    let place = shop.process(Part::Orders).url().trim_start_matches("http://").to_owned();
    shop.kill(Part::Orders);
    becomes(&page, "order-service", "unreachable").await;
    eventually("the page says why", || async {
        let shown = process(&page.snapshot().await, "order-service");
        shown["reason"] == format!("nothing listens on {place}")
    })
    .await;
    let (status, _) = page.post("/api/orders", &order_of(&[("MOUSE", 1)])).await;
    assert_eq!(status, StatusCode::BAD_GATEWAY);
    assert_eq!(process(&page.snapshot().await, "inventory-service")["state"], "ready");
    shop.start(Part::Orders, &[("HTTP_ADDR", &place)]);
    let shown = becomes(&page, "order-service", "ready").await;
    assert_eq!(shown["reason"], Value::Null);

    let outage = shop.broker_goes_away().await;
    shop.place(&order_of(&[("MOUSE", 1)])).await; // an idle relay has no reason to notice
    let shown = becomes(&page, "orders relay", "not ready").await;
    assert!(shown["reason"].as_str().expect("a reason").starts_with("broker: "), "{shown}");
    outage.end().await;
    becomes(&page, "orders relay", "ready").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_alone_opens_while_the_servers_are_away_says_so_and_heals() {
    let shop = Shop::open(Backing::Servers).await;
    shop.database_proxy().cut();
    let outage = shop.broker_goes_away().await;
    let running = shop.start_page().await;
    assert_eq!(running.healthcheck().0, Some(0), "it is there to say what is away");
    let page = Api::new(running.url());
    assert_eq!(page.request(Method::GET, "/").send().await.expect("a page").status(), 200);
    let snapshot = page.snapshot().await;
    let errors: Vec<_> = snapshot["errors"].as_array().expect("errors").iter().collect();
    for (error, begins) in errors.iter().zip(["orders database", "inventory database", "broker"]) {
        assert!(error.as_str().expect("text").starts_with(begins), "{error}");
    }
    assert_eq!(errors.len(), 3);
    let (_, health) = page.get("/health/ready").await;
    assert_eq!(health["status"], "degraded");

    shop.database_proxy().heal();
    outage.end().await;
    eventually("the page shows everything", || async {
        let snapshot = page.snapshot().await;
        snapshot["errors"] == json!([]) && snapshot["tables"]["stock"]["total"] == 5
    })
    .await;
}

on_both!(the_page_alone_kills_a_process_that_is_built_for_it_and_redelivers_through_its_relay);

async fn the_page_alone_kills_a_process_that_is_built_for_it_and_redelivers_through_its_relay(
    mut shop: Shop,
) {
    let settings = [("ADMIN_TOKEN", "secret".to_owned()), ("PAGE_COMMANDS", "compose".to_owned())];
    let running = shop.start_page_with(&settings).await;
    let page = Api::new(running.url());
    let order = shop.place(&order_of(&[("MOUSE", 1)])).await;
    shop.order_becomes(&order, "Confirmed").await;
    let shown = becomes(&page, "orders relay", "ready").await;
    assert_eq!(shown["can"], json!(["kill"]));
    assert_eq!(shown["command"], "docker compose pause orders-relay");
    let snapshot = page.snapshot().await;
    assert_eq!(
        (&snapshot["lab"], &snapshot["counters"]["duplicates"]),
        (&json!(true), &Value::Null)
    );
    let stop = json!({"state": "running", "can": [], "command": "docker compose stop rabbitmq"});
    assert_eq!(snapshot["broker"], stop);

    let outbox = &snapshot["tables"]["ordersOutbox"];
    let columns = outbox["columns"].as_array().expect("columns");
    let index = columns.iter().position(|column| column == "messageId").expect("a column");
    let id = outbox["rows"][0][index].as_str().expect("an id");
    let redeliver = format!("/api/messages/{id}/redeliver");
    assert_eq!(page.post(&redeliver, &Value::Null).await.0, StatusCode::ACCEPTED);
    let inventory = shop.inventory();
    eventually("a known duplicate", || async {
        inventory.metrics().await["inbox_duplicates_total"] == 1.0
    })
    .await;
    assert_eq!(shop.reserved("MOUSE").await, 1);

    for (path, refusal) in [
        ("processes/orders-relay/freeze", StatusCode::CONFLICT),
        ("processes/nobody/kill", StatusCode::NOT_FOUND),
        ("broker/stop", StatusCode::CONFLICT),
    ] {
        assert_eq!(page.post(&format!("/api/{path}"), &Value::Null).await.0, refusal, "{path}");
    }
    let (status, _) = page.post("/api/processes/orders-relay/kill", &Value::Null).await;
    assert_eq!(status, StatusCode::ACCEPTED);
    shop.has_crashed(Part::OrdersRelay).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_token_the_page_alone_has_no_buttons_and_shows_no_dead_messages() {
    let shop = Shop::open(Backing::Embedded).await;
    let running = shop.start_page().await;
    let page = Api::new(running.url());
    let shown = becomes(&page, "orders relay", "ready").await;
    assert_eq!((&shown["can"], &shown["command"]), (&json!([]), &Value::Null));
    assert_eq!(page.snapshot().await["lab"], false);
    for path in ["/api/poison", "/api/processes/orders-relay/kill", "/api/outbox/orders/retry"] {
        assert_eq!(page.post(path, &json!({})).await.0, StatusCode::NOT_FOUND, "{path}");
    }
}
