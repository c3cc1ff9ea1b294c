//! Servers that go away and come back.

use e2e::{Api, Part, Shop, on_both, order_of};
use reqwest::StatusCode;
use test_kit::{Backing, eventually};

on_both!(
    while_the_broker_is_away_orders_are_accepted_and_later_all_confirmed,
    processes_that_start_before_the_broker_wait_for_it,
);

const UNTOUCHED: &str = "outbox_messages WHERE retry_count > 0";

async fn while_the_broker_is_away_orders_are_accepted_and_later_all_confirmed(mut shop: Shop) {
    let before = shop.place(&order_of(&[("MOUSE", 1)])).await;
    shop.order_becomes(&before, "Confirmed").await;
    let outage = shop.broker_goes_away().await;
    let mut ids = Vec::new();
    for _ in 0..10 {
        ids.push(shop.place(&order_of(&[("MOUSE", 1)])).await);
    }
    let relay = Api::new(shop.process(Part::OrdersRelay).url());
    eventually("the relay says that it is degraded", || async {
        let (code, health) = relay.get("/health/ready").await;
        code == StatusCode::SERVICE_UNAVAILABLE
            && health["status"] == "degraded"
            && health["checks"]["broker"] != "ok"
    })
    .await;
    let (ready, _) = shop.orders().get("/health/ready").await;
    assert_eq!(ready, StatusCode::OK, "the order service does not depend on the broker");
    shop.order_becomes(&ids[9], "PendingPublish").await;
    outage.end().await;

    for id in &ids {
        shop.order_becomes(id, "Confirmed").await;
    }
    shop.is_consistent().await;
    assert_eq!(shop.count(&shop.orders_db, UNTOUCHED).await, 0, "an outage costs no tries");
    shop.is_ready().await;
    let outages =
        |log: &[String]| log.iter().filter(|line| line.contains("lost the broker")).count();
    assert_eq!(outages(&shop.process(Part::OrdersRelay).log()), 1, "one line for one outage");
}

async fn processes_that_start_before_the_broker_wait_for_it(mut shop: Shop) {
    let outage = shop.broker_goes_away().await;
    for part in Part::ALL {
        shop.start(part, &[]);
    }
    let id = shop.place(&order_of(&[("MOUSE", 1)])).await;
    let relay = Api::new(shop.process(Part::OrdersRelay).url());
    eventually("the relay says that it is starting", || async {
        relay.get("/health/ready").await.1["status"] == "starting"
    })
    .await;
    outage.end().await;
    shop.order_becomes(&id, "Confirmed").await;
    shop.is_ready().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_postgresql_is_away_requests_get_503_and_everything_recovers_by_itself() {
    let shop = Shop::open(Backing::Servers).await;
    let order = order_of(&[("MOUSE", 1)]);
    let before = shop.place(&order).await;
    shop.order_becomes(&before, "Confirmed").await;

    shop.database_proxy().cut();
    let answer = shop.orders().try_post("/orders", &order, &[("Idempotency-Key", "k")]).await;
    let answer = answer.expect("an answer");
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(answer.headers().contains_key("retry-after"));
    assert_eq!(answer.headers()["content-type"], "application/problem+json");
    let (ready, _) = shop.orders().get("/health/ready").await;
    assert_eq!(ready, StatusCode::SERVICE_UNAVAILABLE);

    shop.database_proxy().heal();
    let orders = shop.orders();
    eventually("the same order is accepted", || async {
        let answer = orders.try_post("/orders", &order, &[("Idempotency-Key", "k")]).await;
        answer.is_ok_and(|answer| answer.status() == StatusCode::CREATED)
    })
    .await;
    shop.is_consistent().await;
    shop.is_ready().await;
    assert_eq!(shop.reserved("MOUSE").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_start_before_postgresql_wait_for_it() {
    let mut shop = Shop::prepared(Backing::Servers).await.expect("storage");
    shop.database_proxy().cut();
    for part in Part::ALL {
        shop.start(part, &[]);
    }
    let relay = Api::new(shop.process(Part::OrdersRelay).url());
    eventually("the relay says that it is starting", || async {
        relay.get("/health/ready").await.1["status"] == "starting"
    })
    .await;
    shop.database_proxy().heal();
    shop.is_ready().await;
    let id = shop.place(&order_of(&[("MOUSE", 1)])).await;
    shop.order_becomes(&id, "Confirmed").await;
}
