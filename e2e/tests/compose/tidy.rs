//! Starting and stopping leaves things as they were.

use e2e::order_of;
use reqwest::StatusCode;
use test_kit::eventually;

use crate::load::Load;
use crate::stack::{HEALING, Stack, docker, text};

#[tokio::test(flavor = "multi_thread")]
async fn an_order_survives_down_and_up_and_down_with_volumes_leaves_nothing() {
    let stack = Stack::up(&[]);
    let (status, order) =
        stack.api("ORDERS_PORT").post("/orders", &order_of(&[("KEYBOARD", 2)])).await;
    assert_eq!(status, StatusCode::CREATED, "{order}");
    let path = format!("/orders/{}", order["orderId"].as_str().expect("an id"));

    assert!(stack.compose(&["down"]).status.success());
    assert!(stack.compose(&["up", "--wait", "--no-build"]).status.success(), "{}", stack.logs());
    eventually("the order is confirmed", async || {
        stack.api("ORDERS_PORT").get(&path).await.1["status"] == "Confirmed"
    })
    .await;

    assert!(stack.compose(&["down", "--volumes"]).status.success());
    let label = format!("label=com.docker.compose.project={}", stack.project());
    for kind in [
        &["ps", "--all", "--quiet"][..],
        &["volume", "ls", "--quiet"],
        &["network", "ls", "--quiet"],
    ] {
        let left = docker(&[kind, &["--filter", &label]].concat());
        assert_eq!(left, "", "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_shows_what_the_services_write() {
    let stack = Stack::up(&[]);
    let (status, page) = stack.api("PAGE_PORT").get("/health/ready").await;
    assert_eq!(status, StatusCode::OK, "{page}");
    let (status, order) =
        stack.api("PAGE_PORT").post("/api/orders", &order_of(&[("MOUSE", 1)])).await;
    assert_eq!(status, StatusCode::CREATED, "{order}");
    let id = order["orderId"].as_str().expect("an id");
    let shown = tokio::time::timeout(HEALING, shows(&stack, id)).await;
    assert!(shown.is_ok(), "the page does not show order {id}");
}

/// Follows the page's stream until it names this.
async fn shows(stack: &Stack, id: &str) {
    let request = stack.api("PAGE_PORT").request(reqwest::Method::GET, "/api/live");
    let mut stream = request.send().await.expect("a stream");
    let mut seen = String::new();
    while !seen.contains(id) {
        let chunk = stream.chunk().await.expect("more").expect("no end");
        seen.push_str(&String::from_utf8_lossy(&chunk));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_database_has_nothing_to_complain_of() {
    let stack = Stack::up(&[]);
    let load = Load::start(&stack).await;
    load.ends_well(&stack).await;
    let log = text(&stack.compose(&["logs", "--no-color", "postgres"]));
    assert!(log.contains("ready to accept connections"), "{log}");
    let complaints = log.lines().filter(|line| line.contains("WARNING") || line.contains("ERROR"));
    assert_eq!(complaints.collect::<Vec<_>>(), Vec::<&str>::new());
}
