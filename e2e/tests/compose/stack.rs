//! One compose project of its own: started from the files in the repository, on ports that are free,
//! and taken down with everything that belongs to it.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use e2e::Api;
use serde_json::Value;

/// How long a stack may take to heal. Generous: what matters is that it does by itself.
pub(crate) const HEALING: Duration = Duration::from_secs(120);

/// The token for administrative calls, as it is checked in.
const ADMIN_TOKEN: &str = include_str!("../../../deploy/compose/secrets/admin-token");

/// The ports that a stack publishes, by the variables that set them.
const PORTS: [&str; 5] =
    ["ORDERS_PORT", "INVENTORY_PORT", "ORDERS_RELAY_PORT", "INVENTORY_RELAY_PORT", "PAGE_PORT"];

/// A stack that is removed when it is dropped.
pub(crate) struct Stack {
    project: String,
    files: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Stack {
    /// A stack that is not started yet, with these overlays of `deploy/compose`.
    pub(crate) fn new(overlays: &[&str]) -> Self {
        let mut files = vec!["docker-compose.yml".to_owned()];
        files.extend(overlays.iter().map(|name| format!("deploy/compose/{name}.yml")));
        // All at once, or the system might give the same port twice.
        let listeners: Vec<_> =
            PORTS.iter().map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port")).collect();
        let port = |listener: &TcpListener| listener.local_addr().expect("an address").port();
        let environment = PORTS
            .iter()
            .zip(&listeners)
            .map(|(name, listener)| ((*name).to_owned(), port(listener).to_string()))
            .collect();
        Self { project: format!("once-shop-test-{}", std::process::id()), files, environment }
    }

    /// The same, up and healthy.
    pub(crate) fn up(overlays: &[&str]) -> Self {
        let stack = Self::new(overlays);
        let up = stack.compose(&["up", "--wait", "--no-build"]);
        assert!(up.status.success(), "{}\n{}", text(&up), stack.logs());
        stack
    }

    /// What Docker calls everything that belongs to it.
    pub(crate) fn project(&self) -> &str {
        &self.project
    }

    /// Another value of a setting that the compose file reads.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.environment.retain(|(other, _)| other != name);
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// `docker compose …` for this stack, whatever comes of it.
    pub(crate) fn compose(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("docker");
        command.current_dir(root()).args(["compose", "--project-name", &self.project]);
        for file in &self.files {
            command.args(["--file", file]);
        }
        command.args(arguments).envs(self.environment.iter().cloned());
        command.output().expect("docker")
    }

    /// A script of the repository, told of this stack as a person would tell it. It must succeed.
    pub(crate) fn script(&self, path: &str) {
        let mut command = Command::new("bash");
        command.current_dir(root()).arg(path).env("COMPOSE_PROJECT_NAME", &self.project);
        let output = command.envs(self.environment.iter().cloned()).output().expect("bash");
        assert!(output.status.success(), "{}", text(&output));
    }

    /// The port that a variable of the compose file sets.
    pub(crate) fn port(&self, variable: &str) -> u16 {
        let found = self.environment.iter().find(|(name, _)| name == variable);
        found.and_then(|(_, port)| port.parse().ok()).expect("a port")
    }

    /// The service behind a published port.
    pub(crate) fn api(&self, variable: &str) -> Api {
        Api::new(&format!("http://127.0.0.1:{}", self.port(variable)))
    }

    /// The containers of a service, or all that are meant to run.
    pub(crate) fn containers(&self, service: Option<&str>) -> Vec<String> {
        let mut arguments = vec!["ps", "--all", "--quiet"];
        arguments.extend(service);
        let output = self.compose(&arguments);
        let all = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
        match service {
            Some(_) => all,
            None => all.into_iter().filter(|id: &String| has_health_check(id)).collect(),
        }
    }

    /// Waits until every container is healthy.
    pub(crate) async fn is_healthy(&self) {
        let unhealthy = || {
            let all = self.containers(None);
            all.into_iter().find(|id| inspect(id, "{{.State.Health.Status}}") != "healthy")
        };
        let deadline = std::time::Instant::now() + HEALING;
        while let Some(id) = unhealthy() {
            assert!(
                std::time::Instant::now() < deadline,
                "{} is {} and {}\n{}",
                inspect(&id, "{{.Name}}"),
                inspect(&id, "{{.State.Status}}"),
                inspect(&id, "{{json .State.Health}}"),
                self.logs()
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// An administrative call.
    pub(crate) async fn admin(&self, port: &str, path: &str) -> Value {
        let request = self.api(port).request(reqwest::Method::GET, path);
        let answer = request.bearer_auth(ADMIN_TOKEN.trim()).send().await.expect("an answer");
        answer.json().await.expect("JSON")
    }

    /// Sets the stock of one SKU.
    pub(crate) async fn stock(&self, sku: &str, on_hand: u64) {
        let request =
            self.api("INVENTORY_PORT").request(reqwest::Method::PUT, &format!("/stock/{sku}"));
        let request = request.bearer_auth(ADMIN_TOKEN.trim());
        let answer = request.json(&serde_json::json!({ "onHand": on_hand })).send().await;
        assert!(answer.expect("an answer").status().is_success(), "the stock was not set");
    }

    /// The last lines of all logs, for a failure's message.
    pub(crate) fn logs(&self) -> String {
        text(&self.compose(&["logs", "--no-color", "--tail", "15"]))
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        self.compose(&["down", "--volumes", "--remove-orphans", "--timeout", "5"]);
    }
}

/// `docker …`, which must succeed.
pub(crate) fn docker(arguments: &[&str]) -> String {
    let output = Command::new("docker").args(arguments).output().expect("docker");
    assert!(output.status.success(), "docker {arguments:?}: {}", text(&output));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A field of a container or an image.
pub(crate) fn inspect(id: &str, format: &str) -> String {
    docker(&["inspect", "--format", format, id])
}

fn has_health_check(id: &str) -> bool {
    inspect(id, "{{if .State.Health}}yes{{end}}") == "yes"
}

/// What a command wrote.
pub(crate) fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).join("\n")
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}
