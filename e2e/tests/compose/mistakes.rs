//! What goes wrong for newcomers is said in one clear line.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

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

#[test]
fn what_the_gateway_refuses_by_itself_is_a_problem_in_json_too() {
    let stack = Stack::up(&[]);
    let too_large = format!("GET /orders HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(20_000));
    for request in [too_large.as_str(), "no request at all\r\n\r\n"] {
        let place = ("127.0.0.1", stack.port("ORDERS_PORT"));
        let mut connection = TcpStream::connect(place).expect("the gateway");
        connection.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        // A reset after the answer is no matter: not everything was read.
        let _ = connection.read_to_string(&mut answer);
        assert!(
            answer.starts_with("HTTP/1.1 400 ") || answer.starts_with("HTTP/1.0 400 "),
            "{answer}"
        );
        assert!(answer.contains("content-type: application/problem+json"), "{answer}");
    }
}
