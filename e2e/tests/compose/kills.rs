//! Everything in the stack dies in turn, under load.

use std::process::Command;

use crate::load::Load;
use crate::stack::{Stack, docker, inspect};

#[tokio::test(flavor = "multi_thread")]
async fn each_container_can_crash_in_turn_and_no_order_is_lost_or_doubled() {
    let stack = Stack::up(&[]);
    let load = Load::start(&stack).await;
    for id in stack.containers(None) {
        let restarts = restarts(&id);
        crash(&id);
        test_kit::eventually("a restart by Docker", async || self::restarts(&id) > restarts).await;
        stack.is_healthy().await;
        load.goes_on(&stack).await;
        println!("{} crashed, and all is well again", inspect(&id, "{{.Name}}"));
    }
    load.ends_well(&stack).await;
}

/// `docker kill` counts as an operator's wish: Docker leaves the container down until it is told
/// otherwise. With one instance of everything down, orders still go on.
#[tokio::test(flavor = "multi_thread")]
async fn one_instance_of_each_process_can_be_killed_for_good_and_orders_go_on_until_they_are_confirmed()
 {
    let stack = Stack::up(&[]);
    let load = Load::start(&stack).await;
    for service in ["order-service", "orders-relay", "inventory-service", "inventory-relay"] {
        docker(&["kill", &stack.containers(Some(service))[0]]);
        load.goes_on(&stack).await;
    }
    load.ends_well(&stack).await;
    let again = stack.compose(&["up", "--wait", "--no-build"]);
    assert!(again.status.success(), "{}", crate::stack::text(&again));
    stack.is_healthy().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn broker_and_database_can_be_restarted_under_load_and_no_order_is_lost_or_doubled() {
    let stack = Stack::up(&[]);
    let load = Load::start(&stack).await;
    for service in ["rabbitmq", "postgres", "rabbitmq"] {
        docker(&["restart", &stack.containers(Some(service))[0]]);
        stack.is_healthy().await;
        load.goes_on(&stack).await;
    }
    load.ends_well(&stack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_instance_holds_nobody_up_for_ever() {
    let stack = Stack::up(&[]);
    let load = Load::start(&stack).await;
    for service in ["order-service", "orders-relay", "inventory-service", "inventory-relay"] {
        let frozen = &stack.containers(Some(service))[0];
        docker(&["pause", frozen]);
        load.goes_on(&stack).await;
        docker(&["unpause", frozen]);
        stack.is_healthy().await;
    }
    load.ends_well(&stack).await;
}

/// `kill -9` of its first process, from outside of it: a crash, as the kernel would end it.
fn crash(id: &str) {
    let pid = inspect(id, "{{.State.Pid}}");
    let killed = Command::new("kill").args(["-9", &pid]).status().expect("kill");
    assert!(killed.success(), "process {pid} could not be killed: this test runs as root on Linux");
}

fn restarts(id: &str) -> u32 {
    inspect(id, "{{.RestartCount}}").parse().expect("a number")
}

/// The page has neither Docker's socket nor any right over containers: the process itself aborts when it is
/// asked with the token, and Docker does what it does after every crash.
#[tokio::test(flavor = "multi_thread")]
async fn the_pages_button_kills_one_instance_of_each_process_and_docker_starts_it_again() {
    let stack = Stack::up(&[]);
    let load = Load::start(&stack).await;
    let page = stack.api("PAGE_PORT");
    for service in ["order-service", "inventory-service", "orders-relay", "inventory-relay"] {
        let can_kill = async || {
            let snapshot = page.snapshot().await;
            let processes = snapshot["processes"].as_array().expect("processes");
            let process = processes.iter().find(|process| process["id"] == service).expect("one");
            assert_eq!(process["command"], format!("docker compose pause {service}"));
            snapshot["lab"] == true && process["can"] == serde_json::json!(["kill"])
        };
        test_kit::eventually("the page has a button for it", can_kill).await;
        let all = stack.containers(Some(service));
        let all_restarts = || all.iter().map(|id| restarts(id)).sum::<u32>();
        let before = all_restarts();
        let path = format!("/api/processes/{service}/kill");
        let (status, body) = page.post(&path, &serde_json::Value::Null).await;
        assert_eq!(status, reqwest::StatusCode::ACCEPTED, "{service}: {body}");
        test_kit::eventually("a restart by Docker", async || all_restarts() > before).await;
        stack.is_healthy().await;
        load.goes_on(&stack).await;
    }
    let (status, problem) = page.post("/api/broker/stop", &serde_json::Value::Null).await;
    assert_eq!(status, reqwest::StatusCode::CONFLICT);
    let detail = problem["detail"].as_str().expect("what to do");
    assert!(detail.ends_with("; type: docker compose stop rabbitmq"), "{detail}");
    load.ends_well(&stack).await;
}
