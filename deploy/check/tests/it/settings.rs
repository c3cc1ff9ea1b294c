//! Every setting is one that its program has. The tables of `docs/contract.md` are what `--help` says; a test of
//! the whole shop sees to that.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{ConfigMap, Container};

use crate::faults::Faults;
use crate::overlay::{Overlay, name_of, read};

/// What the images of others read. RabbitMQ's gets all its settings by files.
const FOREIGN: [(&str, &[&str]); 2] =
    [("postgres", &["POSTGRES_USER", "POSTGRES_PASSWORD_FILE", "PGDATA"]), ("rabbitmq", &[])];

#[test]
fn every_setting_is_one_that_its_program_has_and_none_that_it_requires_is_missing() {
    let mut faults = Faults::default();
    for overlay in Overlay::each() {
        for workload in overlay.workloads() {
            for container in workload.containers() {
                let set = settings(&overlay, container);
                let (known, parts) = (known(container), parts(container));
                let at = format!("{}: {}", overlay.name, workload.title());
                for name in &set {
                    let there = known.contains_key(name) || parts.contains(name);
                    faults.unless(there, || format!("{at}: {name} is no setting of its program"));
                }
                for name in known.iter().filter_map(|(name, required)| required.then_some(name)) {
                    faults.unless(set.contains(name), || format!("{at}: {name} is required"));
                }
            }
        }
    }
    faults.none();
}

/// The cluster puts a variable into a value only where it is set before: those of ConfigMaps first, then in their order.
/// Else `$(NAME)` stays as it is written.
#[test]
fn every_variable_that_a_value_is_put_together_from_is_set_before_it() {
    let mut faults = Faults::default();
    for overlay in Overlay::each() {
        for workload in overlay.workloads() {
            for container in workload.containers() {
                let mut set = of_configs(&overlay, container);
                for env in container.env.iter().flatten() {
                    let value = env.value.as_deref().unwrap_or_default();
                    for name in referred(value).filter(|name| !set.contains(*name)) {
                        faults.unless(false, || {
                            let at = format!("{}: {}", overlay.name, workload.title());
                            format!("{at}: {}: {name} is not set before it", env.name)
                        });
                    }
                    set.insert(env.name.clone());
                }
            }
        }
    }
    faults.none();
}

#[test]
fn every_program_listens_where_its_port_is() {
    for overlay in Overlay::each() {
        let configs: Vec<ConfigMap> = overlay.all();
        for workload in overlay.workloads() {
            let Some(port) = workload.ports().get("http").copied() else { continue };
            let own = workload.containers().flat_map(|it| it.env.clone().unwrap_or_default());
            let own = own.filter(|env| env.name == "HTTP_ADDR").filter_map(|env| env.value);
            let named: Vec<_> = workload.containers().flat_map(from_configs).collect();
            let shared = configs.iter().filter(|config| named.contains(&name_of(*config)));
            let shared =
                shared.filter_map(|config| config.data.as_ref()?.get("HTTP_ADDR").cloned());
            let found: Vec<_> = own.chain(shared).collect();
            assert_eq!(found, [format!("0.0.0.0:{port}")], "{}", workload.title());
        }
    }
}

/// The names of all variables that a container gets.
fn settings(overlay: &Overlay, container: &Container) -> BTreeSet<String> {
    let own = container.env.iter().flatten().map(|env| env.name.clone());
    own.chain(of_configs(overlay, container)).collect()
}

/// Those that are keys of its ConfigMaps.
fn of_configs(overlay: &Overlay, container: &Container) -> BTreeSet<String> {
    let configs = from_configs(container);
    let all = overlay.all::<ConfigMap>().into_iter();
    let named = all.filter(|config| configs.contains(&name_of(config)));
    named.flat_map(|config| config.data.unwrap_or_default().into_keys()).collect()
}

/// The variables that are there to be put into the values of others.
fn parts(container: &Container) -> BTreeSet<String> {
    let values = container.env.iter().flatten().filter_map(|env| env.value.as_deref());
    values.flat_map(referred).map(str::to_owned).collect()
}

/// Each NAME of `$(NAME)`.
fn referred(value: &str) -> impl Iterator<Item = &str> {
    value.split("$(").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0))
}

fn from_configs(container: &Container) -> Vec<String> {
    let sources = container.env_from.iter().flatten();
    sources.filter_map(|source| Some(source.config_map_ref.as_ref()?.name.clone())).collect()
}

/// What a container's program knows, and whether it can't do without.
fn known(container: &Container) -> BTreeMap<String, bool> {
    let image = container.image.as_deref().unwrap_or_default();
    let name = image.rsplit('/').next().and_then(|last| last.split(':').next()).unwrap_or_default();
    if let Some((_, names)) = FOREIGN.iter().find(|(foreign, _)| *foreign == name) {
        return names.iter().map(|name| ((*name).to_owned(), false)).collect();
    }
    documented(name)
}

/// The rows of the program's tables, also of those of its subcommands.
fn documented(program: &str) -> BTreeMap<String, bool> {
    let contract = read("docs/contract.md");
    let (_, settings) = contract.split_once("\n## Settings\n").expect("the settings");
    let settings = settings.split("\n## ").next().unwrap_or_default();
    let sections = settings.split("\n### `").skip(1);
    let its = sections.filter(|section| {
        let title = section.split('`').next().unwrap_or_default();
        title.split(' ').next() == Some(program)
    });
    let rows = its.flat_map(str::lines).filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split(" | ");
        let name = cells.next()?.trim_end_matches('`');
        Some((name.to_owned(), cells.nth(1)? == "required"))
    });
    let rows: BTreeMap<_, _> = rows.collect();
    assert!(!rows.is_empty(), "docs/contract.md has no settings of {program}");
    rows
}
