//! Who may call the page's server.

use e2e::{Api, Embedded, Part, Process, Shop, order_of};
use reqwest::{Method, RequestBuilder, StatusCode};
use test_kit::Backing;

async fn is_refused(what: &str, request: RequestBuilder) {
    let answer = request.send().await.expect("an answer");
    assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{what}");
    assert_eq!(answer.headers()["content-type"], "application/problem+json", "{what}");
}

async fn is_let_through(what: &str, request: RequestBuilder) {
    let status = request.send().await.expect("an answer").status();
    assert_ne!(status, StatusCode::FORBIDDEN, "{what}");
}

/// Calls that change something.
const CHANGES: [&str; 9] = [
    "/api/orders",
    "/api/stock/MOUSE",
    "/api/processes/orders-relay/kill",
    "/api/broker/stop",
    "/api/poison",
    "/api/messages/01a22d9d-4680-713e-b1c5-ecef9d158a5d/redeliver",
    "/api/outbox/orders/retry",
    "/api/lab/runs",
    "/api/lab/matrix",
];

#[tokio::test(flavor = "multi_thread")]
async fn another_page_can_ask_the_embedded_shop_for_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let shop = Embedded::open(folder.path(), &[]);
    let page = shop.api(10);
    let own = format!("http://127.0.0.1:{}", shop.base() + 10);
    for path in CHANGES {
        let post = || page.request(Method::POST, path).json(&order_of(&[("MOUSE", 1)]));
        for origin in ["http://evil.example", "null", "http://127.0.0.1:1"] {
            is_refused(&format!("{path} for {origin}"), post().header("Origin", origin)).await;
        }
        for site in ["cross-site", "same-site"] {
            is_refused(&format!("{path} {site}"), post().header("Sec-Fetch-Site", site)).await;
        }
    }
    let by_name = |path, name: &str| page.request(Method::GET, path).header("Host", name);
    for path in ["/", "/api/live", "/api/orders", "/api/outbox/orders", "/health/ready"] {
        is_refused(path, by_name(path, "evil.example")).await;
        is_refused(path, by_name(path, "localhost.evil.example:8090")).await;
    }
    is_let_through("a look by name", by_name("/", "localhost:8090")).await;
    assert_eq!(shop.snapshot().await["broker"]["state"], "running", "nothing has happened");
    assert_eq!(shop.snapshot().await["tables"]["orders"]["total"], 0);

    let order = page.request(Method::POST, "/api/orders").json(&order_of(&[("MOUSE", 1)]));
    let order = order.header("Origin", own).header("Sec-Fetch-Site", "same-origin");
    assert_eq!(order.send().await.expect("an answer").status(), StatusCode::CREATED);
}

async fn page_with_token(shop: &Shop, more: &[(&'static str, &str)]) -> Process {
    let mut settings = vec![("ADMIN_TOKEN", "secret".to_owned())];
    settings.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
    shop.start_page_with(&settings).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_of_the_pages_server_has_a_strict_content_security_policy() {
    let folder = tempfile::tempdir().expect("a folder");
    let shop = Embedded::open(folder.path(), &[]);
    let embedded = shop.api(10);
    let elsewhere = Shop::open(Backing::Embedded).await;
    let running = page_with_token(&elsewhere, &[]).await;
    let alone = Api::new(running.url());
    let source = "/source/shared/outbox/src/batch.rs";
    for page in [embedded, alone] {
        for path in ["/", "/app.js", "/lab.json", source, "/guide/fa/1.html", "/nothing"] {
            let answer = page.request(Method::GET, path).send().await.expect("an answer");
            let policy = answer.headers().get("content-security-policy");
            let policy = policy.map(|policy| policy.to_str().expect("text").to_owned());
            assert!(policy.is_some_and(|it| it.contains("default-src 'none'")), "{path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_alone_lends_its_token_by_names_that_it_was_told_and_by_this_machines_own() {
    let shop = Shop::open(Backing::Embedded).await;
    let running = page_with_token(&shop, &[("PAGE_HOSTS", "shop.example,other.example")]).await;
    let page = Api::new(running.url());
    let list = |host: &str| page.request(Method::GET, "/api/outbox/orders").header("Host", host);
    is_refused("a name that leads here", list("evil.example")).await;
    for host in ["shop.example:9000", "other.example", "127.0.0.1:8090"] {
        assert_eq!(list(host).send().await.expect("an answer").status(), StatusCode::OK, "{host}");
    }
    let kill = page.request(Method::POST, "/api/processes/orders-relay/kill");
    is_refused("a kill by another name", kill.header("Host", "evil.example")).await;
    let stock = |host: &str| {
        let set = page.request(Method::PUT, "/api/stock/MOUSE").header("Host", host);
        set.json(&serde_json::json!({"onHand": 7}))
    };
    is_refused("a stock by another name", stock("evil.example")).await;
    let set = stock("127.0.0.1:8090").send().await.expect("an answer");
    assert_eq!(set.status(), StatusCode::OK);
    assert_eq!(page.get("/api/stock/MOUSE").await.1["onHand"], 7);
    let matrix = page.request(Method::POST, "/api/lab/matrix");
    is_refused("an experiment by another name", matrix.header("Host", "evil.example")).await;
    let order = page.request(Method::POST, "/api/orders").json(&order_of(&[("MOUSE", 1)]));
    is_refused("another page's order", order.header("Origin", "http://evil.example")).await;
    assert_eq!(shop.api(Part::OrdersRelay).get("/health/live").await.0, StatusCode::OK);
}
