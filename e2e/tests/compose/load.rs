//! Customers that place orders while things break, and what must be true afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use e2e::{Api, order_of};
use reqwest::StatusCode;
use serde_json::Value;
use test_kit::eventually_some;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::stack::{HEALING, Stack};

const CUSTOMERS: usize = 4;
const SKUS: [&str; 2] = ["KEYBOARD", "MOUSE"];

/// What one customer orders between two looks at the clock: about a hundred orders a second in all.
const PAUSE: Duration = Duration::from_millis(40);

/// Customers at work. Each wants every order that it begins: it asks again, with the same key, until
/// it has an answer.
pub(crate) struct Load {
    stop: CancellationToken,
    customers: JoinSet<Vec<String>>,
    accepted: Arc<AtomicUsize>,
    /// Orders that were placed by the test itself.
    more: Mutex<Vec<String>>,
}

impl Load {
    /// Fills the shelves, and begins.
    pub(crate) async fn start(stack: &Stack) -> Self {
        for sku in SKUS {
            stack.stock(sku, 1_000_000).await;
        }
        let (stop, accepted) = (CancellationToken::new(), Arc::default());
        let mut customers = JoinSet::new();
        for number in 0..CUSTOMERS {
            let sku = SKUS[number % SKUS.len()];
            customers.spawn(customer(
                stack.api("ORDERS_PORT"),
                sku,
                stop.clone(),
                Arc::clone(&accepted),
            ));
        }
        let load = Self { stop, customers, accepted, more: Mutex::default() };
        load.goes_on(stack).await;
        load
    }

    /// Waits until orders are taken (again), and one of them has been to the inventory and back.
    pub(crate) async fn goes_on(&self, stack: &Stack) {
        self.takes_orders().await;
        let order = place(&stack.api("ORDERS_PORT"), SKUS[0]).await;
        decided(&stack.api("ORDERS_PORT"), &order).await;
        self.more.lock().expect("no panic").push(order);
    }

    async fn takes_orders(&self) {
        let before = self.accepted.load(Ordering::Relaxed);
        let deadline = std::time::Instant::now() + HEALING;
        while self.accepted.load(Ordering::Relaxed) < before + 20 {
            assert!(std::time::Instant::now() < deadline, "no orders are taken any more");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Ends the orders, waits until all have been decided, and checks that none was lost or doubled.
    pub(crate) async fn ends_well(self, stack: &Stack) {
        self.stop.cancel();
        let mut orders = self.more.into_inner().expect("no panic");
        orders.extend(self.customers.join_all().await.into_iter().flatten());
        let expected: BTreeSet<&str> = orders.iter().map(String::as_str).collect();
        assert_eq!(expected.len(), orders.len(), "two answers named the same order");

        let mut reserved = BTreeMap::new();
        for id in &orders {
            let order = decided(&stack.api("ORDERS_PORT"), id).await;
            assert_eq!(order["status"], "Confirmed", "{order}");
            let sku = order["lines"][0]["sku"].as_str().unwrap_or_default().to_owned();
            *reserved.entry(sku).or_insert(0_u64) += 1;
            let (status, reservation) =
                stack.api("INVENTORY_PORT").get(&format!("/reservations/{id}")).await;
            assert_eq!(status, StatusCode::OK, "order {id} is confirmed and not reserved");
            assert_eq!(reservation["status"], "Reserved", "{reservation}");
        }
        println!("{} orders, each confirmed and reserved once", orders.len());

        for port in ["ORDERS_RELAY_PORT", "INVENTORY_RELAY_PORT"] {
            // A relay that died before its mark leaves a row that is published again when its lease has
            // ended, long after the order was confirmed.
            let stats = eventually_some("an outbox without pending rows", async || {
                let stats = stack.admin(port, "/admin/stats").await;
                (stats["pending"] == 0).then_some(stats)
            })
            .await;
            assert_eq!(stats["dead"], 0, "{stats}");
        }

        // A doubled effect shows in the stock, a doubled order in the list.
        for sku in SKUS {
            let (_, stock) = stack.api("INVENTORY_PORT").get(&format!("/stock/{sku}")).await;
            assert_eq!(stock["reserved"].as_u64(), reserved.get(sku).copied(), "{stock}");
        }
        assert_eq!(all_orders(&stack.api("ORDERS_PORT")).await, orders.into_iter().collect());
        for port in ["ORDERS_PORT", "INVENTORY_PORT"] {
            let parked = stack.admin(port, "/admin/parked").await;
            assert_eq!(parked["items"], Value::Array(Vec::new()), "something was parked");
        }
    }
}

/// Places orders for one piece each until told to stop.
async fn customer(
    orders: Api,
    sku: &'static str,
    stop: CancellationToken,
    accepted: Arc<AtomicUsize>,
) -> Vec<String> {
    let mut mine = Vec::new();
    while !stop.is_cancelled() {
        mine.push(place(&orders, sku).await);
        accepted.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(PAUSE).await;
    }
    mine
}

/// Asks until there is an answer. A reset, a time-out or a 5xx says nothing about the outcome.
async fn place(orders: &Api, sku: &str) -> String {
    let key = Uuid::now_v7().to_string();
    let body = order_of(&[(sku, 1)]);
    loop {
        let answer = orders.try_post("/orders", &body, &[("Idempotency-Key", &key)]).await;
        if let Ok(answer) = answer {
            let status = answer.status();
            match answer.json::<Value>().await {
                Ok(order) if status == StatusCode::CREATED => {
                    return order["orderId"].as_str().expect("an id").to_owned();
                }
                Ok(problem) => assert!(
                    status.is_server_error() || status == StatusCode::CONFLICT,
                    "{status} {problem}"
                ),
                Err(_) => {}
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The order, once the inventory has decided about it.
async fn decided(orders: &Api, id: &str) -> Value {
    eventually_some("a decision about the order", async || {
        let (status, order) = orders.get(&format!("/orders/{id}")).await;
        assert_ne!(status, StatusCode::NOT_FOUND, "order {id} is lost");
        let open = ["PendingPublish", "Published"].iter().any(|open| order["status"] == *open);
        (status == StatusCode::OK && !open).then_some(order)
    })
    .await
}

async fn all_orders(orders: &Api) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut cursor = String::new();
    loop {
        let (status, page) = orders.get(&format!("/orders?limit=200{cursor}")).await;
        assert_eq!(status, StatusCode::OK, "{page}");
        let items = page["items"].as_array().expect("items");
        found.extend(items.iter().filter_map(|o| o["orderId"].as_str()).map(str::to_owned));
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return found,
        }
    }
}
