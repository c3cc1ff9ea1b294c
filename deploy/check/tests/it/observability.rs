//! What Prometheus reads is there, and what the dashboard shows is what is read.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::faults::Faults;
use crate::overlay::read;
use crate::promql::metrics;

/// Metrics of others that the dashboard shows: RabbitMQ 4 with its plugin for Prometheus, HAProxy 3, Prometheus itself.
const FOREIGN: [&str; 7] = [
    "haproxy_frontend_http_responses_total",
    "rabbitmq_alarms_free_disk_space_watermark",
    "rabbitmq_alarms_memory_used_watermark",
    "rabbitmq_detailed_queue_messages_ready",
    "rabbitmq_detailed_queue_messages_unacked",
    "rabbitmq_process_resident_memory_bytes",
    "up",
];

/// Who is scraped in Docker Compose: a service's name there, and its port.
const SCRAPED: [(&str, u64); 8] = [
    ("order-service", 8080),
    ("inventory-service", 8081),
    ("orders-relay", 8082),
    ("inventory-relay", 8083),
    ("rabbitmq", 15692),
    ("rabbitmq-2", 15692),
    ("rabbitmq-3", 15692),
    ("gateway", 8404),
];

/// Labels that the adapter's rule and the dashboard go by.
const LABELS: [&str; 3] = ["app", "job", "namespace"];

/// Whether one of the shop's programs has a metric of this name.
pub(crate) fn is_ours(name: &str) -> bool {
    read("docs/contract.md").contains(&format!("| `{name}`"))
}

#[test]
fn prometheus_reads_every_replica_of_every_program_and_of_the_servers() {
    let config = yaml("deploy/observability/prometheus.yml");
    let mut read = BTreeSet::new();
    for job in items(&config["scrape_configs"]) {
        for source in items(&job["dns_sd_configs"]) {
            assert_eq!(source["type"], "A", "{job}: an address for each replica");
            for name in items(&source["names"]) {
                let name = name.as_str().unwrap_or_default().to_owned();
                read.insert((name, source["port"].as_u64().unwrap_or_default()));
            }
        }
    }
    let wanted: BTreeSet<_> =
        SCRAPED.iter().map(|(name, port)| ((*name).to_owned(), *port)).collect();
    assert_eq!(read, wanted);
}

/// A queue is told of by the node where its leader is, so a node that is not read hides queues.
#[test]
fn every_job_about_the_broker_reads_every_node_that_its_cluster_may_have() {
    let cluster = yaml("deploy/compose/rabbitmq-cluster.yml");
    let services = cluster["services"].as_object().expect("services");
    let nodes: BTreeSet<_> = services.keys().filter(|name| name.starts_with("rabbitmq")).collect();
    assert_eq!(nodes.len(), 3, "{nodes:?}");
    for job in ["rabbitmq", "rabbitmq-queues"] {
        let config = yaml("deploy/observability/prometheus.yml");
        let jobs = items(&config["scrape_configs"]);
        let its = jobs.iter().filter(|it| it["job_name"] == job);
        let read: Vec<_> = its.flat_map(|it| items(&it["dns_sd_configs"][0]["names"])).collect();
        for node in &nodes {
            assert!(read.contains(&Value::from(node.as_str())), "{job} reads {read:?}, not {node}");
        }
    }
}

#[test]
fn the_jobs_of_the_dashboard_are_jobs_of_prometheus() {
    let config = yaml("deploy/observability/prometheus.yml");
    let jobs: BTreeSet<_> = items(&config["scrape_configs"])
        .iter()
        .filter_map(|job| job["job_name"].as_str().map(str::to_owned))
        .collect();
    for expression in expressions().into_values().flatten() {
        let Some((_, rest)) = expression.split_once("job=~\"") else { continue };
        for job in rest.split('"').next().unwrap_or_default().split('|') {
            assert!(jobs.contains(job), "no job {job}: {expression}");
        }
    }
}

#[test]
fn every_metric_of_the_dashboard_exists() {
    let mut faults = Faults::default();
    let mut shown = BTreeSet::new();
    for (panel, expressions) in expressions() {
        for expression in expressions {
            let names = metrics(&expression);
            faults.unless(!names.is_empty(), || format!("{panel}: no metric in {expression}"));
            for name in names {
                let known = is_ours(&name) || FOREIGN.contains(&name.as_str());
                faults.unless(known, || format!("{panel}: nobody has a metric {name}"));
                shown.insert(name);
            }
        }
    }
    for name in FOREIGN {
        faults.unless(shown.contains(name), || format!("{name} is known and never shown"));
    }
    faults.none();
}

#[test]
fn the_backlog_is_never_added_up_over_the_relays_that_all_report_it() {
    for (panel, expressions) in expressions() {
        for expression in expressions {
            for gauge in ["outbox_pending_messages", "outbox_oldest", "outbox_dead"] {
                let right = !expression.contains(gauge) || expression.starts_with("max by (job)");
                assert!(right, "{panel}: {expression}");
            }
        }
    }
}

#[test]
fn every_panel_asks_the_data_source_that_is_provisioned() {
    let sources = yaml("deploy/observability/grafana/provisioning/datasources/prometheus.yml");
    let uid = &sources["datasources"][0]["uid"];
    let panels = panels();
    let ids: BTreeSet<_> = panels.iter().filter_map(|panel| panel["id"].as_u64()).collect();
    assert_eq!(ids.len(), panels.len(), "each panel has a number of its own");
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        assert_eq!(&panel["datasource"]["uid"], uid, "{}", panel["title"]);
        assert!(panel["description"].as_str().is_some_and(|text| !text.is_empty()), "{panel}");
        for target in items(&panel["targets"]) {
            assert_eq!(&target["datasource"]["uid"], uid, "{}", panel["title"]);
        }
    }
}

#[test]
fn the_dashboard_is_found_where_its_provider_looks() {
    let provider = yaml("deploy/observability/grafana/provisioning/dashboards/once-shop.yml");
    let path = provider["providers"][0]["options"]["path"].as_str().expect("a path");
    let readme = read("deploy/observability/README.md");
    assert!(
        readme.contains(&format!("| `grafana/dashboards` | `{path}` |")),
        "{path} in the README"
    );
}

#[test]
fn in_a_cluster_metrics_get_the_labels_that_autoscalers_and_dashboard_go_by() {
    let jobs = yaml("deploy/kubernetes/monitoring/scrape.yml");
    let rules = items(&jobs[0]["relabel_configs"]);
    for label in LABELS {
        assert!(rules.iter().any(|rule| rule["target_label"] == label), "no label {label}");
    }
    let kept = rules.iter().find(|rule| rule["action"] == "keep").expect("a rule that keeps");
    assert_eq!(kept["regex"], "once-shop;http", "pods of the shop, at the port of that name");
}

/// The expressions of each panel, by its title.
fn expressions() -> BTreeMap<String, Vec<String>> {
    let of = |panel: &Value| {
        let targets = items(&panel["targets"]);
        let expressions = targets.iter().filter_map(|target| target["expr"].as_str());
        (panel["title"].to_string(), expressions.map(str::to_owned).collect())
    };
    panels().iter().filter(|panel| panel["type"] != "row").map(of).collect()
}

fn panels() -> Vec<Value> {
    let text = read("deploy/observability/grafana/dashboards/once-shop.json");
    let dashboard: Value = serde_json::from_str(&text).expect("JSON");
    let panels = items(&dashboard["panels"]);
    assert!(panels.len() > 10, "only {} panels", panels.len());
    panels
}

fn yaml(file: &str) -> Value {
    serde_saphyr::from_str(&read(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn items(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}
