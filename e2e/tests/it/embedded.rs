//! Embedded mode: one command, five processes, a data folder.

use std::net::TcpListener;
use std::process::{Command, Output};

use e2e::{Embedded, free_ports, order_of, shop_binary};
use reqwest::StatusCode;
use serde_json::Value;
use test_kit::eventually;

fn is_alive(pid: i64) -> bool {
    // A zombie has no command line any more.
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|text| !text.is_empty())
}

fn fails(mut command: Command) -> String {
    let Output { status, stderr, .. } = command.output().expect("it runs");
    assert!(!status.success());
    String::from_utf8(stderr).expect("UTF-8").trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_command_opens_a_shop_whose_data_survives_until_reset() {
    let folder = tempfile::tempdir().expect("a folder");
    let shop = Embedded::open(folder.path(), &[]);
    let id = shop.is_confirmed().await;
    shop.stop("INT").await;

    let shop = Embedded::open(folder.path(), &[]);
    let (status, order) = shop.api(0).get(&format!("/orders/{id}")).await;
    assert_eq!((status, order["status"].as_str()), (StatusCode::OK, Some("Confirmed")));
    shop.stop("TERM").await;

    let shop = Embedded::open(folder.path(), &["--reset"]);
    let (status, _) = shop.api(0).get(&format!("/orders/{id}")).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(shop.api(1).get("/stock/MOUSE").await.1["reserved"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_healthcheck_by_the_same_ports_says_whether_the_shop_is_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let shop = Embedded::open(folder.path(), &[]);
    let base = shop.base().to_string();
    let asked = || {
        let mut command = Command::new(shop_binary());
        command.arg("healthcheck").env_clear().env("SHOP_PORT_BASE", &base);
        let Output { status, stdout, .. } = command.output().expect("it runs");
        (status.code(), String::from_utf8(stdout).expect("UTF-8"))
    };
    assert_eq!(asked(), (Some(0), "ready\n".to_owned()));
    let (status, health) = shop.api(10).get("/health/ready").await;
    assert_eq!((status, health["checks"]["ordersDatabase"].as_str()), (StatusCode::OK, Some("ok")));
    let page = shop.base() + 10;
    shop.stop("TERM").await;
    assert_eq!(asked(), (Some(1), format!("not ready: nothing listens on 127.0.0.1:{page}\n")));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_child_takes_administrative_calls_with_the_token_dev() {
    let folder = tempfile::tempdir().expect("a folder");
    let shop = Embedded::open(folder.path(), &[]);
    for (offset, path) in
        [(0, "/admin/parked"), (1, "/admin/parked"), (2, "/admin/stats"), (3, "/admin/outbox")]
    {
        let api = shop.api(offset);
        let call = |token| api.request(reqwest::Method::GET, path).bearer_auth(token).send();
        eventually("it takes the call", || async {
            call("dev").await.is_ok_and(|answer| answer.status() == StatusCode::OK)
        })
        .await;
        assert_eq!(call("devil").await.expect("an answer").status(), StatusCode::FORBIDDEN);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_is_killed_is_started_again_and_nothing_is_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let shop = Embedded::open(folder.path(), &[]);
    for child in 0..4 {
        let before = shop.children().await;
        e2e::send("KILL", before[child]);
        eventually("there is another one in its place", || async {
            let now = shop.children().await;
            now.len() == 4 && now[child] != before[child]
        })
        .await;
        let service = shop.api(u16::try_from(child).expect("small"));
        eventually("it is ready", || async {
            let request = service.request(reqwest::Method::GET, "/health/ready").send().await;
            request.is_ok_and(|answer| answer.status() == StatusCode::OK)
        })
        .await;
        shop.is_confirmed().await;
    }
    assert_eq!(shop.api(1).get("/stock/MOUSE").await.1["reserved"], 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_children_end_with_their_supervisor_however_it_ends() {
    for signal in ["INT", "TERM", "KILL"] {
        let folder = tempfile::tempdir().expect("a folder");
        let shop = Embedded::open(folder.path(), &[]);
        let children = shop.children().await;
        assert_eq!(children.len(), 4);
        shop.signal(signal);
        eventually("all children have ended", || {
            std::future::ready(!children.iter().any(|pid| is_alive(*pid)))
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_or_a_folder_that_is_taken_is_named_in_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let base = free_ports();
    let taken = TcpListener::bind(("127.0.0.1", base + 1)).expect("a port");
    let error = fails(Embedded::command(folder.path(), base, &[]));
    assert!(error.contains(&format!("port {} for inventory-service", base + 1)), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    drop(taken);

    let shop = Embedded::open(folder.path(), &[]);
    let error = fails(Embedded::command(folder.path(), free_ports(), &["--reset"]));
    assert!(error.contains("another shop runs in it"), "{error}");
    shop.is_confirmed().await;

    let foreign = tempfile::tempdir().expect("a folder");
    std::fs::write(foreign.path().join("thesis.txt"), "years of work").expect("a file");
    let error = fails(Embedded::command(foreign.path(), free_ports(), &["--reset"]));
    assert!(error.contains("not ours"), "{error}");
    assert!(foreign.path().join("thesis.txt").exists());
}

#[test]
fn an_invalid_setting_stops_the_process_with_one_line_that_names_it() {
    let command = |part: &str, setting: (&str, &str)| {
        let mut command = Command::new(shop_binary());
        command
            .arg(part)
            .env("DATABASE_URL", "sqlite://unused.db")
            .env("BROKER_URL", "sqlite://unused.db")
            .env("HTTP_ADDR", "127.0.0.1:0")
            .env(setting.0, setting.1);
        command
    };
    for (part, setting) in [
        ("order-service", ("HTTP_ADDR", "8080")),
        ("order-service", ("DATABASE_URL", "mysql://localhost/shop")),
        ("order-service", ("DATABASE_URL", "nonsense")),
        ("order-service", ("BROKER_URL", "http://localhost")),
        ("order-service", ("BROKER_URL", "amqp://user:secret@local host/")),
        ("order-service", ("BROKER_URL", "amqp://user:secret@one,,two/shop")),
        ("order-service", ("BROKER_DECLARE", "nothing")),
        ("order-service", ("DATABASE_URL", "postgres://user:secret@one,one/shop")),
        ("order-service", ("DATABASE_PASSWORD_FILE", "missing")),
        ("inventory-service", ("ADMIN_TOKEN_FILE", "missing")),
        ("outbox-relay", ("BROKER_PASSWORD_FILE", "missing")),
        ("inventory-service", ("RUST_LOG", "shop=loud")),
        ("inventory-service", ("LOG_FORMAT", "xml")),
        ("inventory-service", ("CONSUMER_PREFETCH", "0")),
        ("inventory-service", ("BROKER_VISIBILITY_TIMEOUT", "0s")),
        ("outbox-relay", ("RELAY_BATCH_SIZE", "0")),
        ("outbox-relay", ("RELAY_LEASE", "soon")),
        ("outbox-relay", ("RELAY_LEASE", "1ms")),
        ("outbox-relay", ("RELAY_BACKOFF", "quadratic")),
    ] {
        let error = fails(command(part, setting));
        assert_eq!(error.lines().count(), 1, "{setting:?}: {error}");
        let flag = setting.0.to_lowercase().replace('_', "-");
        let named = error.contains(setting.0)
            || error.contains(&flag)
            || error.contains(&flag.replace("relay-", ""));
        assert!(named, "{setting:?}: {error}");
        assert!(!error.contains("secret"), "{error}");
    }
}

#[test]
fn an_invalid_setting_of_a_child_stops_the_whole_shop() {
    for (name, value) in [
        ("RELAY_LEASE", "soon"),
        ("CONSUMER_PREFETCH", "0"),
        ("BROKER_VISIBILITY_TIMEOUT", "0s"),
        ("DATABASE_CONNECTIONS", "none"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Embedded::command(folder.path(), free_ports(), &[]);
        command.env(name, value).env("SHOP_PORT_BASE", "for the parent, whose flag wins");
        let error = fails(command);
        assert!(error.contains(name), "{name}: {error}");
        assert!(error.lines().count() <= 5, "{name}: a line for each child at most: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_shows_the_tables_and_passes_orders_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let shop = Embedded::open(folder.path(), &[]);
    let page = shop.api(10).request(reqwest::Method::GET, "/").send().await.expect("the page");
    assert!(
        page.headers()["content-security-policy"]
            .to_str()
            .expect("text")
            .contains("default-src 'none'")
    );
    assert!(page.text().await.expect("HTML").contains("Once Shop"));

    let (status, body) = shop.api(10).post("/api/orders", &order_of(&[("MOUSE", 1)])).await;
    assert_eq!(status, StatusCode::CREATED);
    let id = body["orderId"].as_str().expect("an id").to_owned();
    eventually("the page shows the confirmed order", || async {
        let snapshot = shop.snapshot().await;
        let order = &snapshot["tables"]["orders"]["rows"][0];
        order[0] == id.as_str() && order[2] == "Confirmed"
    })
    .await;
    let snapshot = shop.snapshot().await;
    assert_eq!(snapshot["errors"], serde_json::json!([]));
    for table in
        ["ordersOutbox", "inventoryOutbox", "ordersInbox", "inventoryInbox", "reservations"]
    {
        assert_eq!(snapshot["tables"][table]["total"], 1, "{table}");
    }
    let (status, problem) = shop.api(10).post("/api/orders", &Value::Null).await;
    assert_eq!((status, &problem["status"]), (StatusCode::UNPROCESSABLE_ENTITY, &422.into()));
}
