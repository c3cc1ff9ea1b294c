//! What one object says of another is true.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service, ServiceAccount, Volume};
use k8s_openapi::api::networking::v1::Ingress;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::Value;

use crate::faults::Faults;
use crate::overlay::{Overlay, Workload, name_of};

/// What production expects to exist: Secrets with these keys. The README says the same.
const EXPECTED_IN_PRODUCTION: [(&str, &str); 8] = [
    ("orders-database", "password"),
    ("inventory-database", "password"),
    ("order-service-broker", "password"),
    ("inventory-service-broker", "password"),
    ("orders-relay-broker", "password"),
    ("inventory-relay-broker", "password"),
    ("admin", "token"),
    ("shop-tls", "tls.crt"),
];

#[test]
fn every_selector_matches_the_labels_of_its_own_template_and_of_no_other() {
    let mut faults = Faults::default();
    for overlay in Overlay::each() {
        let workloads = overlay.workloads();
        for workload in &workloads {
            let Some(selector) = &workload.selector else { continue };
            let wanted = selector.match_labels.clone().unwrap_or_default();
            let found: Vec<_> = workloads.iter().filter(|other| has(other, &wanted)).collect();
            let itself = found.len() == 1 && found[0].name == workload.name;
            faults.unless(itself, || {
                let found: Vec<_> = found.iter().map(|other| other.title()).collect();
                format!("{}: {} selects {found:?}", overlay.name, workload.title())
            });
        }
    }
    faults.none();
}

fn has(workload: &Workload, wanted: &BTreeMap<String, String>) -> bool {
    wanted.iter().all(|(name, value)| workload.labels.get(name) == Some(value))
}

#[test]
fn every_port_of_a_service_is_a_named_port_of_the_one_workload_that_it_selects() {
    let mut faults = Faults::default();
    for overlay in Overlay::each() {
        let workloads = overlay.workloads();
        for service in overlay.all::<Service>() {
            let at = format!("{}: Service {}", overlay.name, name_of(&service));
            let spec = service.spec.unwrap_or_default();
            let wanted = spec.selector.unwrap_or_default();
            let behind: Vec<_> =
                workloads.iter().filter(|workload| has(workload, &wanted)).collect();
            faults.unless(behind.len() == 1, || format!("{at}: {} workloads", behind.len()));
            let ports = behind.first().map(|workload| workload.ports()).unwrap_or_default();
            for port in spec.ports.unwrap_or_default() {
                let number = match port.target_port {
                    Some(IntOrString::String(name)) => ports.get(&name),
                    _ => None,
                };
                // The same number on both sides, so that an address means the same everywhere.
                let right = number == Some(&port.port);
                faults.unless(right, || format!("{at}: {} leads to {number:?}", port.port));
            }
        }
    }
    faults.none();
}

#[test]
fn every_path_of_an_ingress_leads_to_a_port_of_a_service() {
    let overlay = Overlay::production();
    let mut known = BTreeSet::new();
    for service in overlay.all::<Service>() {
        let ports = service.spec.clone().unwrap_or_default().ports.unwrap_or_default();
        known.extend(ports.into_iter().map(|port| (name_of(&service), port.name)));
    }
    let ingresses = overlay.all::<Ingress>();
    let rules = ingresses.into_iter().flat_map(|ingress| ingress.spec.and_then(|spec| spec.rules));
    let paths = rules.flatten().filter_map(|rule| rule.http).flat_map(|http| http.paths);
    let services: Vec<_> = paths
        .map(|path| {
            let service = path.backend.service.expect("a service");
            // Everything else on the port is for inside.
            assert_eq!(path.path.as_deref(), Some("/orders"), "what customers may reach");
            (service.name, service.port.and_then(|port| port.name))
        })
        .collect();
    assert!(!services.is_empty(), "customers reach nothing");
    assert!(services.iter().all(|service| known.contains(service)), "{services:?}: {known:?}");
}

/// The API knows no customers, so whoever gets through may list everybody's orders. The annotation is one of ingress-nginx.
#[test]
fn nobody_gets_in_past_an_authentication_and_who_sets_it_up_is_told_why() {
    for ingress in Overlay::production().all::<Ingress>() {
        let class = ingress.spec.clone().unwrap_or_default().ingress_class_name;
        assert_eq!(class.as_deref(), Some("nginx"), "the controller that knows the annotation");
        let annotations = ingress.metadata.annotations.clone().unwrap_or_default();
        let asked = annotations.get("nginx.ingress.kubernetes.io/auth-url");
        assert!(asked.is_some_and(|url| url.starts_with("https://")), "{}", name_of(&ingress));
    }
    for file in ["README.md", "overlays/production/ingress.yml"] {
        let text = crate::overlay::read(&format!("deploy/kubernetes/{file}"));
        assert!(text.contains("GET /orders"), "{file} says what is open");
        assert!(text.contains("authentication"), "{file} says what is missing");
    }
}

#[test]
fn every_key_that_a_pod_refers_to_exists_or_is_one_that_production_expects() {
    let mut faults = Faults::default();
    for overlay in Overlay::each() {
        let (configs, secrets) = (config_keys(&overlay), secret_keys(&overlay));
        for workload in overlay.workloads() {
            for (kind, name, key) in referred(&workload) {
                let keys = if kind == "Secret" { &secrets } else { &configs };
                let there = keys
                    .get(&name)
                    .is_some_and(|keys| key.as_ref().is_none_or(|key| keys.contains(key)));
                faults.unless(there, || {
                    let key = key.unwrap_or_default();
                    format!("{}: {}: no {kind} {name} {key}", overlay.name, workload.title())
                });
            }
        }
    }
    faults.none();
}

#[test]
fn production_holds_no_secret() {
    assert!(Overlay::production().all::<Secret>().is_empty());
}

#[test]
fn every_secret_that_production_expects_is_in_the_readme_and_referred_to() {
    let readme = crate::overlay::read("deploy/kubernetes/README.md");
    let overlay = Overlay::production();
    let mut used: BTreeSet<_> = overlay.workloads().iter().flat_map(referred).collect();
    let ingresses = overlay.all::<Ingress>().into_iter().filter_map(|ingress| ingress.spec?.tls);
    let certificates = ingresses.flatten().filter_map(|tls| tls.secret_name);
    used.extend(certificates.map(|name| ("Secret", name, Some("tls.crt".to_owned()))));
    for (name, key) in EXPECTED_IN_PRODUCTION {
        assert!(readme.contains(&format!("| `{name}` | `{key}` |")), "{name} {key} in the README");
        let reference = ("Secret", name.to_owned(), Some(key.to_owned()));
        assert!(used.contains(&reference), "nothing uses {name} {key}");
    }
    assert_eq!(secrets(&used), EXPECTED_IN_PRODUCTION.map(|(name, _)| name).into(), "all of them");
}

fn secrets(used: &BTreeSet<Reference>) -> BTreeSet<&str> {
    let of_kind = used.iter().filter(|(kind, _, _)| *kind == "Secret");
    of_kind.map(|(_, name, _)| name.as_str()).collect()
}

/// What a pod names: kind, name, and the key if it names one.
type Reference = (&'static str, String, Option<String>);

fn referred(workload: &Workload) -> Vec<Reference> {
    let mut found = vec![];
    for container in workload.containers() {
        for from in container.env_from.iter().flatten() {
            found.extend(from.config_map_ref.iter().map(|it| ("ConfigMap", it.name.clone(), None)));
            found.extend(from.secret_ref.iter().map(|it| ("Secret", it.name.clone(), None)));
        }
        for source in container.env.iter().flatten().filter_map(|env| env.value_from.as_ref()) {
            let config = source.config_map_key_ref.iter();
            found.extend(config.map(|it| ("ConfigMap", it.name.clone(), Some(it.key.clone()))));
            let secret = source.secret_key_ref.iter();
            found.extend(secret.map(|it| ("Secret", it.name.clone(), Some(it.key.clone()))));
        }
    }
    workload.pod.volumes.iter().flatten().for_each(|volume| mounted(volume, &mut found));
    found
}

fn mounted(volume: &Volume, found: &mut Vec<Reference>) {
    let sources = volume.projected.iter().flat_map(|projected| projected.sources.iter().flatten());
    for secret in sources.filter_map(|source| source.secret.as_ref()) {
        let items = secret.items.iter().flatten();
        found.extend(items.map(|item| ("Secret", secret.name.clone(), Some(item.key.clone()))));
    }
    found.extend(volume.config_map.iter().map(|it| ("ConfigMap", it.name.clone(), None)));
    let secret = volume.secret.iter().filter_map(|secret| secret.secret_name.clone());
    found.extend(secret.map(|name| ("Secret", name, None)));
}

/// Names and their keys.
type Keys = BTreeMap<String, BTreeSet<String>>;

fn config_keys(overlay: &Overlay) -> Keys {
    let keys = |config: ConfigMap| {
        (name_of(&config), config.data.unwrap_or_default().into_keys().collect())
    };
    overlay.all().into_iter().map(keys).collect()
}

fn secret_keys(overlay: &Overlay) -> Keys {
    let keys =
        |secret: Secret| (name_of(&secret), secret.data.unwrap_or_default().into_keys().collect());
    let mut all: Keys = overlay.all().into_iter().map(keys).collect();
    if overlay.name == "production" {
        for (name, key) in EXPECTED_IN_PRODUCTION {
            all.entry(name.to_owned()).or_default().insert(key.to_owned());
        }
    }
    all
}

#[test]
fn every_workload_has_a_service_account_that_exists() {
    let mut faults = Faults::default();
    for overlay in Overlay::each() {
        let accounts: BTreeSet<_> = overlay.all::<ServiceAccount>().iter().map(name_of).collect();
        for workload in overlay.workloads() {
            let account = workload.pod.service_account_name.clone().unwrap_or_default();
            faults.unless(accounts.contains(&account), || {
                format!("{}: {}: no account {account}", overlay.name, workload.title())
            });
        }
    }
    faults.none();
}

#[test]
fn every_program_and_the_name_of_every_job_have_one_version() {
    let mut faults = Faults::default();
    for overlay in Overlay::each() {
        let jobs: BTreeSet<_> = overlay.all::<Job>().iter().map(name_of).collect();
        let mut versions = BTreeSet::new();
        for workload in overlay.workloads() {
            let images = workload.containers().filter_map(|container| container.image.as_deref());
            for image in images.filter(|image| image.contains("once-shop/")) {
                let version = image.rsplit(':').next().unwrap_or_default();
                versions.insert(version.to_owned());
                let label = workload.labels.get("app.kubernetes.io/version");
                faults.unless(label.is_some_and(|label| label == version), || {
                    format!("{}: {}: {label:?} is not {version}", overlay.name, workload.title())
                });
                let name = format!("{}-{}", workload.name, version.replace('.', "-"));
                faults.unless(workload.kind != "Job" || jobs.contains(&name), || {
                    format!("{}: no Job {name}, only {jobs:?}", overlay.name)
                });
            }
        }
        faults.unless(versions.len() == 1, || format!("{}: {versions:?}", overlay.name));
    }
    faults.none();
}

/// A hash would change the Job's template with the content, and the API refuses that.
#[test]
fn nothing_that_a_job_refers_to_changes_its_name_with_its_content() {
    for overlay in Overlay::each() {
        for workload in overlay.workloads().iter().filter(|workload| workload.kind == "Job") {
            for (kind, name, _) in referred(workload) {
                let fixed = ["databases", "orders-database", "inventory-database"];
                assert!(fixed.contains(&name.as_str()), "{}: {kind} {name}", workload.title());
            }
        }
    }
}

#[test]
fn every_object_is_in_the_namespace_of_the_shop() {
    for overlay in Overlay::each() {
        for object in overlay.objects.iter().filter(|object| object["kind"] != "Namespace") {
            let namespace = object["metadata"]["namespace"].as_str();
            assert_eq!(namespace, Some("once-shop"), "{}", crate::overlay::title(object));
        }
        let is_namespace = |object: &&Value| object["kind"] == "Namespace";
        let namespace = overlay.objects.iter().find(is_namespace).expect("a namespace");
        let enforced = &namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"];
        assert_eq!(enforced, "restricted", "{}", overlay.name);
    }
}
