use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use test_kit::eventually;

/// Which program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// The order service.
    Orders,
    /// The inventory service.
    Inventory,
    /// The relay of the order service's outbox.
    OrdersRelay,
    /// The relay of the inventory service's outbox.
    InventoryRelay,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::Orders, Self::Inventory, Self::OrdersRelay, Self::InventoryRelay];

    fn subcommand(self) -> &'static str {
        match self {
            Self::Orders => "order-service",
            Self::Inventory => "inventory-service",
            Self::OrdersRelay | Self::InventoryRelay => "outbox-relay",
        }
    }
}

/// A running process of the shop. Dropped, it is killed.
pub struct Process {
    program: &'static str,
    child: Child,
    url: String,
    log: Arc<Mutex<Vec<String>>>,
}

impl Process {
    /// Starts it, on a free port unless `HTTP_ADDR` is given, and waits until it listens.
    ///
    /// # Panics
    /// It did not start.
    #[must_use]
    pub fn start(part: Part, environment: &[(&str, String)]) -> Self {
        Self::start_program(part.subcommand(), environment)
    }

    /// Starts the page for services that run elsewhere.
    ///
    /// # Panics
    /// It did not start.
    #[must_use]
    pub fn start_page(environment: &[(&str, String)]) -> Self {
        Self::start_program("page", environment)
    }

    fn start_program(program: &'static str, environment: &[(&str, String)]) -> Self {
        let mut child = Command::new(shop_binary())
            .arg(program)
            .env("HTTP_ADDR", "127.0.0.1:0")
            .envs(environment.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the shop's binary starts");
        let log = Arc::default();
        let address = read_log(&mut child, Arc::clone(&log));
        let url = address.recv_timeout(Duration::from_secs(30)).unwrap_or_else(|_| {
            panic!("{program} does not listen; its log:\n{}", lines(&log).join("\n"))
        });
        Self { program, child, url, log }
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its own program, asked whether this process is ready: the exit code and the line it prints.
    /// It is told where this process listens, and nothing else.
    ///
    /// # Panics
    /// It did not start.
    #[must_use]
    pub fn healthcheck(&self) -> (Option<i32>, String) {
        let address = self.url.trim_start_matches("http://");
        let output = Command::new(shop_binary())
            .args([self.program, "healthcheck"])
            .env_clear()
            .env("HTTP_ADDR", address)
            .output()
            .expect("the shop's binary starts");
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).expect("UTF-8").trim_end().to_owned())
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has logged so far.
    #[must_use]
    pub fn log(&self) -> Vec<String> {
        lines(&self.log)
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Whether it has ended, by itself or by a crash point.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Sends a signal by name, such as `TERM`, `STOP` or `CONT`.
    ///
    /// # Panics
    /// There is no `kill` on this machine.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.pid().to_string()]).status();
        assert!(status.expect("kill runs").success());
    }

    /// Stops it, and returns when each of its threads has stopped: on a busy machine that takes a
    /// moment, in which it goes on working.
    pub async fn freeze(&self) {
        self.signal("STOP");
        eventually("every thread has stopped", async || self.threads_have_stopped()).await;
    }

    /// As Linux tells it. Elsewhere there is no such folder, and nothing to wait for.
    fn threads_have_stopped(&self) -> bool {
        let Ok(threads) = std::fs::read_dir(format!("/proc/{}/task", self.pid())) else {
            return true;
        };
        let mut stats = threads
            .flatten()
            .filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok());
        // The state stands after the name, which is in brackets.
        stats.all(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T')))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("--- log of {} ---\n{}", self.url, lines(&self.log).join("\n"));
        }
    }
}

/// Collects the log, and finds in it where the process listens.
fn read_log(child: &mut Child, log: Arc<Mutex<Vec<String>>>) -> Receiver<String> {
    let (sender, receiver) = channel();
    let stderr = child.stderr.take().expect("stderr is a pipe");
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            if let Some((_, url)) = line.split_once(" listens on ") {
                let _ = sender.send(url.trim().to_owned());
            }
            log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    });
    receiver
}

fn lines(log: &Mutex<Vec<String>>) -> Vec<String> {
    log.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The one binary of the shop, built beside the tests.
///
/// # Panics
/// It was not built.
#[must_use]
pub fn shop_binary() -> std::path::PathBuf {
    let this = std::env::current_exe().expect("a program has a path");
    // A test lies in target/<profile>/deps, a program in target/<profile>.
    let folders = this.ancestors().skip(1).take(2);
    let mut binaries = folders.map(|folder| folder.join("playground"));
    let binary = binaries.clone().find(|binary| binary.exists());
    let binary = binary.unwrap_or_else(|| binaries.next().unwrap_or_default());
    assert!(binary.exists(), "{} is missing: cargo build --workspace", binary.display());
    binary
}
