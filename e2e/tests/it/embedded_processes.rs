//! What people do to the processes of an embedded shop, by the page's calls.

use e2e::{Embedded, send};
use reqwest::StatusCode;
use serde_json::{Value, json};
use test_kit::{eventually, eventually_some};

const IDS: [&str; 4] = ["order-service", "inventory-service", "orders-relay", "inventory-relay"];

fn shop() -> (tempfile::TempDir, Embedded) {
    let folder = tempfile::tempdir().expect("a folder");
    let shop = Embedded::open(folder.path(), &[]);
    (folder, shop)
}

async fn tell(shop: &Embedded, id: &str, control: &str) -> (StatusCode, Value) {
    shop.api(10).post(&format!("/api/processes/{id}/{control}"), &Value::Null).await
}

async fn is_done(shop: &Embedded, id: &str, control: &str) {
    let (status, body) = tell(shop, id, control).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "{id} {control}: {body}");
}

async fn is_refused(shop: &Embedded, id: &str, control: &str, because: &str) {
    let (status, body) = tell(shop, id, control).await;
    assert_eq!((status, &body["detail"]), (StatusCode::CONFLICT, &json!(because)));
}

async fn process(shop: &Embedded, id: &str) -> Value {
    let snapshot = shop.snapshot().await;
    let processes = snapshot["processes"].as_array().expect("processes");
    processes.iter().find(|process| process["id"] == id).expect(id).clone()
}

/// The state letter of a process, or of one of its threads, as the system has it.
fn letter(stat: &str) -> char {
    let stat = std::fs::read_to_string(stat).unwrap_or_default();
    let after_name = stat.rsplit_once(") ").map_or("", |(_, after)| after);
    after_name.chars().next().unwrap_or('-')
}

/// It is gone, or only its parent has not taken note of that yet.
fn has_ended(pid: i64) -> bool {
    "-Z".contains(letter(&format!("/proc/{pid}/stat")))
}

/// All its threads stand still. Until the last one does, it is not stopped yet for the system.
fn is_held(pid: i64) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
    let threads: Vec<_> = threads.into_iter().flatten().flatten().collect();
    let held = |path: std::path::PathBuf| letter(&path.join("stat").to_string_lossy()) == 'T';
    !threads.is_empty() && threads.iter().all(|thread| held(thread.path()))
}

fn pid_of(process: &Value) -> i64 {
    process["pid"].as_i64().expect("a process id")
}

async fn is_another(shop: &Embedded, id: &str, before: &Value) {
    let after = eventually_some(&format!("another {id} runs"), || async {
        let after = process(shop, id).await;
        (after["state"] == "running" && after["pid"] != before["pid"]).then_some(after)
    })
    .await;
    let restarts = before["restarts"].as_i64().expect("a number");
    assert_eq!(after["restarts"], restarts + 1, "{after}");
    assert!(has_ended(pid_of(before)), "the old one is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_process_can_be_killed_and_restarted_by_the_page_and_no_order_is_lost() {
    let (_folder, shop) = shop();
    let snapshot = shop.snapshot().await;
    assert_eq!(snapshot["lab"], true);
    let buttons = json!(["kill", "freeze", "thaw", "restart"]);
    for (id, process) in IDS.iter().zip(snapshot["processes"].as_array().expect("processes")) {
        assert_eq!((&process["id"], &process["can"]), (&json!(id), &buttons));
        assert_eq!(process["command"], Value::Null);
    }
    for (index, id) in IDS.into_iter().enumerate() {
        for control in ["kill", "restart"] {
            let before = process(&shop, id).await;
            is_done(&shop, id, control).await;
            is_another(&shop, id, &before).await;
        }
        let service = shop.api(u16::try_from(index).expect("small"));
        eventually("it is ready", || async {
            let asked = service.request(reqwest::Method::GET, "/health/ready").send().await;
            asked.is_ok_and(|answer| answer.status() == StatusCode::OK)
        })
        .await;
        shop.is_confirmed().await;
    }
    assert_eq!(shop.api(1).get("/stock/MOUSE").await.1["reserved"], 4);
    assert_eq!(tell(&shop, "playground", "kill").await.0, StatusCode::NOT_FOUND);
    assert_eq!(tell(&shop, "order-service", "praise").await.0, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_process_does_nothing_until_it_is_thawed() {
    let (_folder, shop) = shop();
    is_refused(&shop, "orders-relay", "thaw", "orders relay can't be told to thaw: it is running")
        .await;
    shop.freeze("orders-relay").await;
    let frozen = process(&shop, "orders-relay").await;
    assert_eq!(frozen["state"], "frozen");
    eventually("the system holds it", || async { is_held(pid_of(&frozen)) }).await;
    is_refused(
        &shop,
        "orders-relay",
        "freeze",
        "orders relay can't be told to freeze: it is frozen",
    )
    .await;

    let id = shop.place().await;
    shop.counter_becomes("ordersBacklog", 1).await;
    is_done(&shop, "orders-relay", "thaw").await;
    shop.becomes_confirmed(&id).await;
    let thawed = process(&shop, "orders-relay").await;
    assert_eq!((&thawed["state"], &thawed["pid"]), (&json!("running"), &frozen["pid"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_process_can_be_killed_and_restarted() {
    let (_folder, shop) = shop();
    for control in ["kill", "restart"] {
        is_done(&shop, "inventory-service", "freeze").await;
        let before = process(&shop, "inventory-service").await;
        let id = shop.place().await;
        is_done(&shop, "inventory-service", control).await;
        is_another(&shop, "inventory-service", &before).await;
        shop.becomes_confirmed(&id).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_process_ends_with_its_supervisor_however_that_ends() {
    for signal in ["TERM", "KILL"] {
        let (_folder, shop) = shop();
        let children = shop.children().await;
        for id in IDS {
            is_done(&shop, id, "freeze").await;
        }
        let all_frozen = || std::future::ready(children.iter().all(|pid| is_held(*pid)));
        eventually("the system holds them", all_frozen).await;
        shop.signal(signal);
        let gone = || std::future::ready(children.iter().all(|pid| has_ended(*pid)));
        eventually(&format!("all have ended after {signal}"), gone).await;
    }
}

/// A process that somebody else froze is none that the page has frozen; it must stop all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_somebody_else_froze_does_not_hold_up_the_end() {
    let (_folder, shop) = shop();
    let relay = process(&shop, "inventory-relay").await;
    send("STOP", pid_of(&relay));
    let begun = std::time::Instant::now();
    shop.stop("TERM").await;
    // By then it would have been killed: it has not been asked in vain.
    assert!(begun.elapsed() < std::time::Duration::from_secs(12), "{:?}", begun.elapsed());
}
