//! The cluster and the standby: a whole server is lost under load.

use std::sync::Arc;

use test_kit::eventually;

use crate::load::Load;
use crate::stack::{Stack, docker, text};

#[tokio::test(flavor = "multi_thread")]
async fn each_node_of_the_broker_can_stop_under_load_leader_first_and_no_order_is_lost_or_doubled()
{
    let stack = Stack::up(&["rabbitmq-cluster"]);
    assert_eq!(members(&stack, "rabbitmq"), 3, "quorum queues of three");
    let load = Load::start(&stack).await;
    let leader = leader(&stack);
    let mut nodes = ["rabbitmq", "rabbitmq-2", "rabbitmq-3"];
    nodes.sort_by_key(|node| *node != leader);
    for node in nodes {
        let id = &stack.containers(Some(node))[0];
        docker(&["stop", id]);
        load.goes_on(&stack).await;
        docker(&["start", id]);
        stack.is_healthy().await;
        println!("{node} was stopped, and all is well again");
    }
    load.ends_well(&stack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_standby_takes_over_from_a_lost_database_and_no_order_is_lost_or_doubled() {
    let stack = Stack::up(&["postgres-standby"]);
    let load = Load::start(&stack).await;
    docker(&["kill", &stack.containers(Some("postgres"))[0]]);
    stack.script("deploy/compose/promote-standby");
    load.goes_on(&stack).await;

    // The old primary is there again, and nobody takes it for one, processes that start later included.
    let again = stack.compose(&["up", "--wait", "--no-build"]);
    assert!(again.status.success(), "{}", text(&again));
    assert!(stack.compose(&["restart", "order-service", "orders-relay"]).status.success());
    stack.is_healthy().await;
    load.goes_on(&stack).await;
    load.ends_well(&stack).await;
}

/// The node that leads the queue of the orders.
fn leader(stack: &Stack) -> String {
    let all = queues(stack, "rabbitmq", "leader");
    let row = all.lines().find(|row| row.starts_with("inventory-service.orders\t"));
    let node = row.and_then(|row| row.split_once("rabbit@")).expect("a leader").1;
    node.trim().to_owned()
}

/// The members of the smallest queue.
fn members(stack: &Stack, node: &str) -> usize {
    let all = queues(stack, node, "members");
    let queues = all.lines().filter(|row| row.contains("rabbit@"));
    queues.map(|row| row.matches("rabbit@").count()).min().expect("queues")
}

fn queues(stack: &Stack, node: &str, column: &str) -> String {
    let arguments =
        ["exec", "-T", node, "rabbitmqctl", "-q", "list_queues", "-p", "shop", "name", column];
    let output = stack.compose(&arguments);
    assert!(output.status.success(), "{}", text(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_waits_for_the_standby() {
    let stack = Stack::up(&["postgres-standby"]);
    let standby = &stack.containers(Some("postgres-standby"))[0];
    docker(&["pause", standby]);
    let stack = Arc::new(stack);
    let commit = tokio::task::spawn_blocking({
        let stack = Arc::clone(&stack);
        move || sql(&stack, "CREATE TABLE waits ()")
    });
    eventually("a commit that waits", async || {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE 'CREATE%'";
        sql(&stack, waiting) == "1"
    })
    .await;
    assert!(!commit.is_finished(), "it was acknowledged without the standby");
    docker(&["unpause", standby]);
    assert_eq!(commit.await.expect("the commit"), "CREATE TABLE");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_that_outlived_its_primary_does_not_start_as_a_second_one() {
    let stack = Stack::new(&["postgres-standby"]);
    let up = || {
        let up = stack.compose(&["up", "--wait", "--no-build", "postgres-standby"]);
        (up.status.success(), text(&up))
    };
    let (started, said) = up();
    assert!(started, "{said}");
    assert!(stack.compose(&["rm", "--stop", "--force", "postgres"]).status.success());
    docker(&["volume", "rm", &format!("{}_postgres-data", stack.project())]);
    assert!(stack.compose(&["rm", "--stop", "--force", "postgres-standby"]).status.success());
    let (started, said) = up();
    assert!(!started, "{said}");
    let log = stack.logs();
    assert!(log.contains("postgres-standby-data holds a copy of another server"), "{log}");
}

fn sql(stack: &Stack, statement: &str) -> String {
    let arguments = ["exec", "-T", "postgres", "psql", "-U", "postgres", "-Atc", statement];
    let asked = stack.compose(&arguments);
    assert!(asked.status.success(), "{}", text(&asked));
    String::from_utf8_lossy(&asked.stdout).trim().to_owned()
}
