//! What goes wrong for newcomers is said in one clear line.

use std::net::TcpListener;

use test_kit::eventually_some;

use crate::stack::{Stack, text};

/// A folder with all secrets, one of them changed.
fn secrets_with(name: &str, value: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let checked_in = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/compose/secrets");
    for file in std::fs::read_dir(checked_in).expect("the secrets") {
        let file = file.expect("a file");
        std::fs::copy(file.path(), folder.path().join(file.file_name())).expect("a copy");
    }
    std::fs::write(folder.path().join(name), value).expect("a secret");
    readable(folder.path());
    folder
}

/// The containers' users must get at it.
fn readable(folder: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).expect("the mode");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_for_the_database_is_said_in_one_line() {
    let mut stack = Stack::up(&[]);
    let folder = secrets_with("orders-db-password", "wrong");
    stack.set("SECRETS_DIR", &folder.path().to_string_lossy());
    stack.compose(&["up", "--detach", "--no-build", "--no-deps", "order-service"]);
    let line = a_line_about(&stack, "order-service", "password authentication failed").await;
    assert!(line.contains("database"), "{line}");
    assert!(line.contains("orders"), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_for_the_broker_is_said_in_one_line() {
    let mut stack = Stack::up(&[]);
    let folder = secrets_with("orders-relay-broker-password", "wrong");
    stack.set("SECRETS_DIR", &folder.path().to_string_lossy());
    stack.compose(&["up", "--detach", "--no-build", "--no-deps", "orders-relay"]);
    let line = a_line_about(&stack, "orders-relay", "ACCESS_REFUSED").await;
    assert!(line.contains("broker"), "{line}");
}

async fn a_line_about(stack: &Stack, service: &str, words: &str) -> String {
    eventually_some(&format!("a line of {service} with {words}"), async || {
        let said = text(&stack.compose(&["logs", "--no-color", "--no-log-prefix", service]));
        said.lines().find(|line| line.contains(words)).map(str::to_owned)
    })
    .await
}

#[test]
fn a_port_in_use_is_said_in_one_line_that_names_it() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let mut stack = Stack::new(&[]);
    stack.set("ORDERS_PORT", &port);
    let up = stack.compose(&["up", "--wait", "--no-build"]);
    assert!(!up.status.success());
    let said = text(&up);
    let named = |line: &&str| line.contains(&port) && line.contains("in use");
    assert!(said.lines().find(named).is_some(), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_without_any_instance_is_answered_with_a_problem_and_when_to_try_again() {
    let stack = Stack::up(&[]);
    assert!(stack.compose(&["stop", "order-service"]).status.success());
    let answer = eventually_some("the gateway's own answer", async || {
        let asked = stack.api("ORDERS_PORT").request(reqwest::Method::GET, "/orders").send().await;
        asked.ok().filter(|answer| answer.status() == reqwest::StatusCode::SERVICE_UNAVAILABLE)
    })
    .await;
    assert_eq!(answer.headers()["content-type"], "application/problem+json");
    assert_eq!(answer.headers()["retry-after"], "1");
}
