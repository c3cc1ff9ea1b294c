use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};

use database::begin_write;
use reqwest::StatusCode;
use serde_json::Value;
use test_kit::{eventually, eventually_some};

use crate::{Api, order_of, shop_binary};

/// A shop started as `cargo run` starts it.
pub struct Embedded {
    child: Child,
    base: u16,
    folder: PathBuf,
}

impl Embedded {
    /// The command line.
    #[must_use]
    pub fn command(folder: &Path, base: u16, more: &[&str]) -> Command {
        let mut command = Command::new(shop_binary());
        command
            .args(["--port-base", &base.to_string(), "--data"])
            .arg(folder)
            .args(more)
            .env("RUST_LOG", "warn")
            .stdin(Stdio::null());
        command
    }

    /// Starts it and waits until it has said that it is open.
    ///
    /// # Panics
    /// It did not open.
    #[must_use]
    pub fn open(folder: &Path, more: &[&str]) -> Self {
        let base = free_ports();
        let mut child =
            Self::command(folder, base, more).stdout(Stdio::piped()).spawn().expect("it starts");
        let stdout = child.stdout.take().expect("stdout is a pipe");
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        assert!(lines.any(|line| line == "Once Shop is open."), "it did not open");
        std::thread::spawn(move || lines.count());
        Self { child, base, folder: folder.to_owned() }
    }

    /// Where its first port is.
    #[must_use]
    pub fn base(&self) -> u16 {
        self.base
    }

    /// What listens on the port that is so far from the first one.
    #[must_use]
    pub fn api(&self, offset: u16) -> Api {
        Api::new(&format!("http://127.0.0.1:{}", self.base + offset))
    }

    /// The process ids of its four children, as the page shows them.
    ///
    /// # Panics
    /// The page does not show them.
    pub async fn children(&self) -> Vec<i64> {
        let snapshot = self.snapshot().await;
        let processes = snapshot["processes"].as_array().expect("processes").clone();
        processes.iter().filter_map(|process| process["pid"].as_i64()).collect()
    }

    /// What the page shows now.
    pub async fn snapshot(&self) -> Value {
        self.api(10).snapshot().await
    }

    /// Freezes a process by the page, at a moment at which it does not write: SQLite has one writer, and
    /// one that is frozen in mid-write would hold up everybody.
    ///
    /// # Panics
    /// It was not frozen.
    pub async fn freeze(&self, id: &str) {
        let tell = async |control: &str| {
            let path = format!("/api/processes/{id}/{control}");
            let (status, body) = self.api(10).post(&path, &Value::Null).await;
            assert_eq!(status, StatusCode::NO_CONTENT, "{id} {control}: {body}");
        };
        tell("freeze").await;
        while !self.anybody_can_write().await {
            tell("thaw").await;
            tell("freeze").await;
        }
    }

    async fn anybody_can_write(&self) -> bool {
        for file in ["orders.db", "inventory.db", "broker.db"] {
            let url = format!("sqlite://{}", self.folder.join(file).display());
            let db = test_kit::connect(&url).expect("a pool");
            match begin_write(&db).await {
                Ok(tx) => tx.rollback().await.expect("the lock is given back"),
                Err(_) => return false,
            }
        }
        true
    }

    /// Waits until the page shows this number.
    pub async fn counter_becomes(&self, counter: &str, number: u64) {
        eventually(&format!("{counter} becomes {number}"), || async {
            self.snapshot().await["counters"][counter] == number
        })
        .await;
    }

    /// The id of a message in an outbox, as the page shows it: the first one about an order.
    ///
    /// # Panics
    /// The page's table lacks a column.
    pub async fn message_about(&self, outbox: &str, order: &str) -> String {
        eventually_some("the message about the order", || async {
            let snapshot = self.snapshot().await;
            let table = &snapshot["tables"][outbox];
            let columns = table["columns"].as_array().expect("columns");
            let place = |name| columns.iter().position(|column| column == name).expect("a column");
            let (id, about) = (place("messageId"), place("aggregateId"));
            let row =
                table["rows"].as_array().expect("rows").iter().rfind(|row| row[about] == order);
            row.and_then(|row| row[id].as_str().map(str::to_owned))
        })
        .await
    }

    /// Places an order, through the page.
    ///
    /// # Panics
    /// It was not accepted.
    pub async fn place(&self) -> String {
        let (status, body) = self.api(10).post("/api/orders", &order_of(&[("MOUSE", 1)])).await;
        assert_eq!(status, StatusCode::CREATED, "{body}");
        body["orderId"].as_str().expect("an id").to_owned()
    }

    /// Places an order and waits until it is confirmed.
    pub async fn is_confirmed(&self) -> String {
        let id = self.place().await;
        self.becomes_confirmed(&id).await;
        id
    }

    /// Waits until an order is confirmed.
    pub async fn becomes_confirmed(&self, id: &str) {
        let orders = self.api(0);
        eventually("the order is confirmed", || async {
            orders.get(&format!("/orders/{id}")).await.1["status"] == "Confirmed"
        })
        .await;
    }

    /// Sends a signal to it, and not to its children.
    pub fn signal(&self, name: &str) {
        send(name, self.child.id().into());
    }

    /// Stops it, which must go well.
    ///
    /// # Panics
    /// It ended with an error.
    pub async fn stop(mut self, signal: &str) {
        self.signal(signal);
        let child = &mut self.child;
        let status =
            eventually_some("it stops", || std::future::ready(child.try_wait().expect("a child")))
                .await;
        assert_eq!(status.code(), Some(0));
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A base such that N, N+1, N+2, N+3 and N+10 are free, below the ports that Linux gives to outgoing
/// connections. Each is tried by one shop of this process only, and other processes try others: what
/// is free now may be taken by the time the shop has opened.
///
/// # Panics
/// There are none.
#[must_use]
pub fn free_ports() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 12_000 + u16::try_from(std::process::id() % 100).expect("small") * 200;
    let is_free = |base: &u16| {
        [0, 1, 2, 3, 10].iter().all(|n| TcpListener::bind(("127.0.0.1", base + n)).is_ok())
    };
    let mut bases = (0..100).map(|_| first + NEXT.fetch_add(20, Ordering::Relaxed));
    bases.find(is_free).expect("free ports")
}

/// Sends a signal by name to a process.
///
/// # Panics
/// There is no `kill` on this machine, or no such process.
pub fn send(signal: &str, pid: i64) {
    let status = Command::new("kill").args(["-s", signal, &pid.to_string()]).status();
    assert!(status.expect("kill runs").success());
}
