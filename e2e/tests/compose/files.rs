//! What the compose files say, with every overlay and profile; nothing is started.

use serde_json::{Map, Value};

use crate::stack::{Stack, docker, text};

const OVERLAYS: [&str; 3] = ["published", "rabbitmq-cluster", "postgres-standby"];

/// The services as Compose understands them, all overlays and profiles included.
fn services() -> Map<String, Value> {
    let stack = Stack::new(&OVERLAYS);
    let said = stack.compose(&["--profile", "observability", "config", "--format", "json"]);
    assert!(said.status.success(), "{}", text(&said));
    let mut config: Value = serde_json::from_slice(&said.stdout).expect("JSON");
    match config["services"].take() {
        Value::Object(services) => services,
        other => panic!("no services: {other}"),
    }
}

fn is_one_shot(name: &str) -> bool {
    name.starts_with("migrate-")
}

#[test]
fn every_service_is_confined_and_limited_and_watched() {
    for (name, service) in services() {
        assert_eq!(service["cap_drop"], serde_json::json!(["ALL"]), "{name}");
        assert!(service["cap_add"].is_null() && service["privileged"].is_null(), "{name}");
        assert_eq!(service["security_opt"][0], "no-new-privileges:true", "{name}");
        assert!(service["mem_limit"].is_string() || service["mem_limit"].is_u64(), "{name}");
        let restart = if is_one_shot(&name) { "on-failure:5" } else { "unless-stopped" };
        assert_eq!(service["restart"], restart, "{name}");
        // Our programs have theirs in the image.
        let watched = service["healthcheck"]["test"].is_array() || is_ours(&service);
        assert!(watched, "{name} has no health check");
        for port in service["ports"].as_array().into_iter().flatten() {
            assert_eq!(port["host_ip"], "127.0.0.1", "{name}: {port}");
        }
        let mounts = service["volumes"].as_array().cloned().unwrap_or_default();
        assert!(!Value::Array(mounts).to_string().contains("docker.sock"), "{name}");
    }
}

fn is_ours(service: &Value) -> bool {
    service["image"].as_str().is_some_and(|image| image.starts_with("once-shop/"))
}

#[test]
fn no_secret_is_in_a_compose_file() {
    for (name, service) in services() {
        for (key, value) in service["environment"].as_object().into_iter().flatten() {
            let value = value.as_str().unwrap_or_default();
            let names_one = ["PASSWORD", "TOKEN", "SECRET"].iter().any(|word| key.contains(word));
            assert!(!names_one || key.ends_with("_FILE"), "{name}: {key}");
            let user = value.split_once("://").and_then(|(_, rest)| rest.split_once('@'));
            assert!(!user.is_some_and(|(user, _)| user.contains(':')), "{name}: {key}={value}");
        }
    }
}

#[test]
fn every_setting_is_one_that_the_program_in_the_image_knows() {
    for (name, service) in services() {
        if !is_ours(&service) {
            continue;
        }
        let image = service["image"].as_str().expect("an image");
        let page = service["command"][0] == "page";
        let mut arguments = vec!["run", "--rm", image];
        arguments.extend(page.then_some("page"));
        arguments.push("--help");
        let help = docker(&arguments);
        for key in service["environment"].as_object().expect("settings").keys() {
            let shown = ["=", "]"].map(|end| format!("[env: {key}{end}"));
            assert!(shown.iter().any(|text| help.contains(text)), "{name}: {key}");
        }
    }
}
