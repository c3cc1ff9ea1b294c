//! Placing orders.

use e2e::{Part, Shop, on_both, order_of};
use reqwest::StatusCode;
use sea_orm::{ConnectionTrait, TransactionTrait};
use serde_json::{Value, json};
use test_kit::{Backing, eventually};
use tokio::task::JoinSet;

on_both!(
    an_order_is_confirmed_and_its_stock_is_reserved,
    an_order_waits_as_pending_publish_until_the_relay_has_a_confirm,
    an_order_without_enough_stock_reserves_nothing_and_names_the_shortages,
    an_unknown_sku_rejects_the_order,
    of_two_orders_for_the_last_unit_one_is_confirmed,
    orders_from_many_clients_are_all_decided_and_the_stock_adds_up,
    parallel_requests_with_one_key_make_one_order,
    a_key_replays_its_answer_and_refuses_another_order,
    lists_are_paged_newest_first,
);

async fn an_order_is_confirmed_and_its_stock_is_reserved(shop: Shop) {
    let order = json!({"customerId": "c-42", "lines": [
        {"sku": "KEYBOARD", "quantity": 2}, {"sku": "MOUSE", "quantity": 1}, {"sku": "KEYBOARD", "quantity": 3}]});
    let answer = shop.orders().try_post("/orders", &order, &[]).await.expect("an answer");
    assert_eq!(answer.status(), StatusCode::CREATED);
    let location = answer.headers()["location"].to_str().expect("text").to_owned();
    let body: Value = answer.json().await.expect("JSON");
    let id = body["orderId"].as_str().expect("an id");
    assert_eq!(location, format!("/orders/{id}"));
    assert_eq!(body["status"], "PendingPublish");
    assert_eq!(body["message"], "Order created successfully");

    let order = shop.order_becomes(id, "Confirmed").await;
    let merged = json!([{"sku": "KEYBOARD", "quantity": 5}, {"sku": "MOUSE", "quantity": 1}]);
    assert_eq!(order["lines"], merged);
    assert_eq!(order["version"], 2);
    assert_eq!(order["rejection"], Value::Null);
    assert_eq!(shop.reserved("KEYBOARD").await, 5);
    let (status, reservation) = shop.inventory().get(&format!("/reservations/{id}")).await;
    assert_eq!((status, &reservation["status"]), (StatusCode::OK, &json!("Reserved")));
    assert_eq!(reservation["lines"], merged);
    shop.is_consistent().await;
}

async fn an_order_waits_as_pending_publish_until_the_relay_has_a_confirm(mut shop: Shop) {
    shop.kill(Part::OrdersRelay);
    shop.kill(Part::Inventory);
    let id = shop.place(&order_of(&[("MOUSE", 1)])).await;
    shop.order_becomes(&id, "PendingPublish").await;
    let (_, waiting) = shop.orders().get("/orders?status=PendingPublish").await;
    assert_eq!(waiting["items"][0]["orderId"], id.as_str());

    shop.start(Part::OrdersRelay, &[]);
    shop.order_becomes(&id, "Published").await;
    let (_, waiting) = shop.orders().get("/orders?status=PendingPublish").await;
    assert_eq!(waiting["items"], json!([]));
    let (_, published) = shop.orders().get("/orders?status=Published").await;
    assert_eq!(published["items"][0]["orderId"], id.as_str());

    shop.start(Part::Inventory, &[]);
    shop.order_becomes(&id, "Confirmed").await;
}

async fn an_order_without_enough_stock_reserves_nothing_and_names_the_shortages(shop: Shop) {
    let id = shop.place(&order_of(&[("MOUSE", 1), ("LAPTOP", 11), ("LIMITED", 2)])).await;
    let order = shop.order_becomes(&id, "Rejected").await;
    assert_eq!(
        order["rejection"],
        json!({"reason": "OutOfStock", "shortages": [
            {"sku": "LAPTOP", "requested": 11, "available": 10},
            {"sku": "LIMITED", "requested": 2, "available": 1}]})
    );
    assert_eq!(shop.reserved("MOUSE").await, 0);
    let (status, _) = shop.inventory().get(&format!("/reservations/{id}")).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    shop.is_consistent().await;
}

async fn an_unknown_sku_rejects_the_order(shop: Shop) {
    let id = shop.place(&order_of(&[("UNICORN", 1), ("LAPTOP", 11)])).await;
    let order = shop.order_becomes(&id, "Rejected").await;
    assert_eq!(order["rejection"]["reason"], "UnknownSku");
    let unicorn = json!({"sku": "UNICORN", "requested": 1, "available": 0});
    assert!(order["rejection"]["shortages"].as_array().expect("a list").contains(&unicorn));
}

async fn of_two_orders_for_the_last_unit_one_is_confirmed(shop: Shop) {
    let order = order_of(&[("LIMITED", 1)]);
    let ids = [shop.place(&order).await, shop.place(&order).await];
    shop.is_consistent().await;
    let mut statuses = Vec::new();
    for id in ids {
        let (_, order) = shop.orders().get(&format!("/orders/{id}")).await;
        statuses.push(order["status"].as_str().expect("a status").to_owned());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, ["Confirmed", "Rejected"]);
    assert_eq!(shop.reserved("LIMITED").await, 1);
}

async fn orders_from_many_clients_are_all_decided_and_the_stock_adds_up(shop: Shop) {
    let mut clients = JoinSet::new();
    for client in 0..8_u32 {
        let api = shop.orders();
        clients.spawn(async move {
            for n in 0..12_u32 {
                // Two SKUs in either order: a careless locking order would deadlock.
                let skus = if (client + n).is_multiple_of(2) {
                    ["KEYBOARD", "LAPTOP"]
                } else {
                    ["LAPTOP", "KEYBOARD"]
                };
                let order = order_of(&[(skus[0], 1), (skus[1], 1)]);
                let (status, body) = api.post("/orders", &order).await;
                assert_eq!(status, StatusCode::CREATED, "{body}");
            }
        });
    }
    while let Some(client) = clients.join_next().await {
        client.expect("a client");
    }
    shop.is_consistent().await;
    assert_eq!(shop.count(&shop.orders_db, "orders").await, 96);
    assert_eq!(shop.count(&shop.orders_db, "orders WHERE status = 'Confirmed'").await, 10);
    assert_eq!(shop.reserved("LAPTOP").await, 10);
}

async fn parallel_requests_with_one_key_make_one_order(shop: Shop) {
    let mut requests = JoinSet::new();
    for _ in 0..8 {
        let api = shop.orders();
        requests.spawn(async move {
            let order = order_of(&[("MOUSE", 1)]);
            api.try_post("/orders", &order, &[("Idempotency-Key", "k-1")]).await.expect("an answer")
        });
    }
    let mut ids = Vec::new();
    while let Some(answer) = requests.join_next().await {
        let answer = answer.expect("a request");
        assert!(matches!(answer.status().as_u16(), 201 | 409), "{}", answer.status());
        if answer.status() == StatusCode::CREATED {
            let body: Value = answer.json().await.expect("JSON");
            ids.push(body["orderId"].as_str().expect("an id").to_owned());
        }
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert_eq!(shop.count(&shop.orders_db, "orders").await, 1);
    shop.is_consistent().await;
}

/// PostgreSQL only: SQLite has one writer at a time.
#[tokio::test(flavor = "multi_thread")]
async fn of_parallel_requests_with_an_expired_key_one_makes_a_new_order() {
    let shop = Shop::open(Backing::Servers).await;
    let (db, order) = (&shop.orders_db, order_of(&[("MOUSE", 1)]));
    let key = [("Idempotency-Key", "k-1")];
    shop.orders().try_post("/orders", &order, &key).await.expect("an answer");
    let expire = "UPDATE idempotency_keys SET created_at = '2020-01-01T00:00:00Z'";
    db.execute_unprepared(expire).await.expect("an update");

    // The key's row is held until all of them have come as far as it.
    let barrier = db.begin().await.expect("a transaction");
    let hold = "SELECT 1 FROM idempotency_keys FOR UPDATE";
    barrier.execute_unprepared(hold).await.expect("a lock");
    let mut requests = JoinSet::new();
    for _ in 0..4 {
        let (api, order) = (shop.orders(), order.clone());
        requests.spawn(async move { api.try_post("/orders", &order, &key).await });
    }
    let waiting =
        "pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    eventually("all wait", || async { shop.count(db, waiting).await == 4 }).await;
    barrier.rollback().await.expect("the lock is given back");
    while let Some(answer) = requests.join_next().await {
        let answer = answer.expect("a request").expect("an answer");
        assert!(matches!(answer.status().as_u16(), 201 | 409), "{}", answer.status());
    }
    assert_eq!(shop.count(db, "orders").await, 2, "the old one and one new one");
}

async fn a_key_replays_its_answer_and_refuses_another_order(shop: Shop) {
    let key = [("Idempotency-Key", "k-1")];
    let post = async |order: &Value, key: &[(&str, &str)]| {
        let answer = shop.orders().try_post("/orders", order, key).await.expect("an answer");
        let replayed = answer.headers().contains_key("idempotent-replayed");
        (answer.status(), replayed, answer.text().await.expect("a body"))
    };
    let (status, replayed, body) = post(&order_of(&[("MOUSE", 3)]), &key).await;
    assert_eq!((status, replayed), (StatusCode::CREATED, false));
    let again = post(&order_of(&[("MOUSE", 1), ("MOUSE", 2)]), &key).await;
    assert_eq!(again, (StatusCode::CREATED, true, body));

    let (status, ..) = post(&order_of(&[("MOUSE", 4)]), &key).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    let (status, ..) = post(&order_of(&[("MOUSE", 0)]), &[("Idempotency-Key", "k-2")]).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    let (status, replayed, _) =
        post(&order_of(&[("MOUSE", 1)]), &[("Idempotency-Key", "k-2")]).await;
    assert_eq!((status, replayed), (StatusCode::CREATED, false), "a refused order burns no key");
    for bad in ["", "two words", &"k".repeat(256)] {
        let (status, ..) = post(&order_of(&[("MOUSE", 1)]), &[("Idempotency-Key", bad)]).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{bad:?}");
    }
    assert_eq!(shop.count(&shop.orders_db, "orders").await, 2);
}

async fn lists_are_paged_newest_first(shop: Shop) {
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.insert(0, shop.place(&order_of(&[("MOUSE", 1)])).await);
    }
    let mut listed = Vec::new();
    let mut path = "/orders?limit=2".to_owned();
    loop {
        let (status, page) = shop.orders().get(&path).await;
        assert_eq!(status, StatusCode::OK);
        for order in page["items"].as_array().expect("items") {
            listed.push(order["orderId"].as_str().expect("an id").to_owned());
        }
        match page["nextCursor"].as_str() {
            Some(cursor) => path = format!("/orders?limit=2&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(listed, ids);
    let api = shop.orders();
    eventually("all are confirmed", || async {
        let (_, page) = api.get("/orders?status=Confirmed&customerId=c-42").await;
        page["items"].as_array().is_some_and(|items| items.len() == 5)
    })
    .await;
    let (_, page) = api.get("/orders?customerId=somebody-else").await;
    assert_eq!(page, json!({"items": [], "nextCursor": null}));
    for bad in ["limit=0", "limit=201", "limit=x", "status=Unknown", "cursor=x"] {
        let (status, _) = api.get(&format!("/orders?{bad}")).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{bad}");
    }
}
