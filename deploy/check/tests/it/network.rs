//! Who may reach whom, exactly: every pair of places and every port is tried against the policies, as a cluster
//! does it, and what is allowed must be the table.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::overlay::{NAME, Overlay};
use crate::policies::{Opens, Place, Where, enters, leaves};

/// A client, a server, a port: TCP, and for names UDP too.
type Line = (&'static str, &'static str, i32);

#[test]
fn in_the_demo_these_reach_each_other_and_nobody_else_does() {
    let mut table: Vec<Line> = vec![
        ("playground", "order-service", 8080),
        ("playground", "inventory-service", 8081),
        ("playground", "orders-relay", 8082),
        ("playground", "inventory-relay", 8083),
        ("playground", "postgres", 5432),
        ("playground", "rabbitmq", 5672),
        ("migrate-orders", "postgres", 5432),
        ("migrate-inventory", "postgres", 5432),
        ("postgres", "DNS", 53),
        ("rabbitmq", "DNS", 53),
        ("playground", "DNS", 53),
        ("migrate-orders", "DNS", 53),
        ("migrate-inventory", "DNS", 53),
    ];
    for program in PROGRAMS {
        table.extend([
            (program, "postgres", 5432),
            (program, "rabbitmq", 5672),
            (program, "DNS", 53),
        ]);
    }
    assert_allowed(&Overlay::demo(), &table);
}

#[test]
fn in_production_these_reach_each_other_and_nobody_else_does() {
    let mut table: Vec<Line> = vec![
        ("ingress controller", "order-service", 8080),
        ("Prometheus", "order-service", 8080),
        ("Prometheus", "inventory-service", 8081),
        ("Prometheus", "orders-relay", 8082),
        ("Prometheus", "inventory-relay", 8083),
        ("order-service", "orders database", 5432),
        ("orders-relay", "orders database", 5432),
        ("migrate-orders", "orders database", 5432),
        ("inventory-service", "inventory database", 5432),
        ("inventory-relay", "inventory database", 5432),
        ("migrate-inventory", "inventory database", 5432),
        ("migrate-orders", "DNS", 53),
        ("migrate-inventory", "DNS", 53),
    ];
    for program in PROGRAMS {
        let nodes = ["first broker node", "second broker node", "third broker node"];
        table.extend(nodes.map(|node| (program, node, 5672)));
        table.push((program, "DNS", 53));
    }
    assert_allowed(&Overlay::production(), &table);
}

#[test]
fn every_pod_is_denied_everything_by_default_in_both_directions() {
    for overlay in Overlay::each() {
        let denies = |policy: NetworkPolicy| {
            let spec = policy.spec.unwrap_or_default();
            spec.pod_selector.unwrap_or_default() == LabelSelector::default()
                && spec.policy_types.is_some_and(|types| types == ["Ingress", "Egress"])
                && spec.ingress.is_none_or(|rules| rules.is_empty())
                && spec.egress.is_none_or(|rules| rules.is_empty())
        };
        assert!(overlay.all().into_iter().any(denies), "{} has no default", overlay.name);
    }
}

/// The programs of the shop that run all the time.
pub(crate) const PROGRAMS: [&str; 4] =
    ["order-service", "inventory-service", "orders-relay", "inventory-relay"];

#[track_caller]
fn assert_allowed(overlay: &Overlay, table: &[Line]) {
    let policies = overlay.all::<NetworkPolicy>();
    let policies: Vec<_> = policies.into_iter().filter_map(|policy| policy.spec).collect();
    let mut places = outside();
    places.extend(overlay.workloads().into_iter().map(|workload| Place {
        ports: workload.ports(),
        name: workload.name,
        at: Where::Inside(workload.labels),
    }));
    // Each side by itself: a line must be open at both ends, and nothing else at either.
    for (side, opens) in [("out", leaves as Opens), ("in", enters as Opens)] {
        let ours = |client: &Place, server: &Place| match side {
            "out" => client.is_inside(),
            _ => server.is_inside(),
        };
        let mut allowed = BTreeSet::new();
        let mut wanted = BTreeSet::new();
        for client in &places {
            for server in places.iter().filter(|server| ours(client, server)) {
                for (port, protocol) in server.doors() {
                    let line = (client.name.as_str(), server.name.as_str(), port);
                    let open = opens(&policies, client, server, (port, protocol));
                    let right = table.contains(&line) && (protocol == "TCP" || port == 53);
                    allowed.extend(open.then_some((line, protocol)));
                    wanted.extend(right.then_some((line, protocol)));
                }
            }
        }
        let missing: Vec<_> = wanted.difference(&allowed).collect();
        let surplus: Vec<_> = allowed.difference(&wanted).collect();
        assert!(
            missing.is_empty() && surplus.is_empty(),
            "{}, {side}: blocked, but in the table: {missing:?}; open, but not in it: {surplus:?}",
            overlay.name
        );
    }
    let known = |name: &str| places.iter().any(|place| place.name == name);
    let unknown: Vec<_> = table.iter().filter(|line| !known(line.0) || !known(line.1)).collect();
    assert!(unknown.is_empty(), "{}: places that are not there: {unknown:?}", overlay.name);
}

/// The places around the shop: those that are in the tables, then some that must stay outside.
fn outside() -> Vec<Place> {
    let namespaced = |name: &str, namespace: &str, (key, value): (&str, &str), ports: &[i32]| {
        let namespace = [("kubernetes.io/metadata.name".to_owned(), namespace.to_owned())];
        let labels = [(key.to_owned(), value.to_owned())];
        let at = Where::Elsewhere { namespace: namespace.into(), labels: labels.into() };
        Place { name: name.to_owned(), at, ports: numbered(ports) }
    };
    let address = |name: &str, address: [u8; 4], ports: &[i32]| {
        let at = Where::Address(address.into());
        Place { name: name.to_owned(), at, ports: numbered(ports) }
    };
    vec![
        namespaced("DNS", "kube-system", ("k8s-app", "kube-dns"), &[53, 8080]),
        namespaced(
            "ingress controller",
            "ingress-nginx",
            ("app.kubernetes.io/component", "controller"),
            &[80],
        ),
        namespaced("Prometheus", "monitoring", (NAME, "prometheus"), &[9090]),
        address("orders database", [192, 0, 2, 10], &[22, 5432, 5672]),
        address("inventory database", [192, 0, 2, 20], &[22, 5432, 5672]),
        address("first broker node", [192, 0, 2, 31], &[5432, 5672, 15672]),
        address("second broker node", [192, 0, 2, 32], &[5432, 5672, 15672]),
        address("third broker node", [192, 0, 2, 33], &[5432, 5672, 15672]),
        namespaced("another pod of the system", "kube-system", ("k8s-app", "other"), &[53, 443]),
        namespaced("a pod of others", "default", (NAME, "order-service"), &[8080, 5432, 5672]),
        namespaced("a neighbour of the controller", "ingress-nginx", (NAME, "other"), &[80]),
        namespaced("a neighbour of Prometheus", "monitoring", (NAME, "other"), &[80]),
        namespaced("a Prometheus of others", "default", (NAME, "prometheus"), &[9090]),
        address("a neighbour of the servers", [192, 0, 2, 99], &[5432, 5672]),
        address("the internet", [203, 0, 113, 1], &[53, 443, 5432, 5672]),
    ]
}

fn numbered(ports: &[i32]) -> BTreeMap<String, i32> {
    ports.iter().map(|port| (port.to_string(), *port)).collect()
}
