//! How many of each there are, and what may take some away.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::faults::Faults;
use crate::observability::is_ours;
use crate::overlay::{Overlay, name_of, read};

#[test]
fn every_deployment_of_more_than_one_has_one_budget_and_that_lets_a_node_be_drained() {
    let mut faults = Faults::default();
    for overlay in Overlay::each() {
        let budgets: Vec<PodDisruptionBudget> = overlay.all();
        let scalers = scalers(&overlay);
        for deployment in overlay.all::<Deployment>() {
            let name = name_of(&deployment);
            let spec = deployment.spec.unwrap_or_default();
            let least = scalers.get(&name).and_then(|scaler| scaler.min_replicas);
            let replicas = least.or(spec.replicas).unwrap_or(1);
            let labels = spec.selector.match_labels;
            let its = budgets.iter().filter_map(|budget| budget.spec.as_ref()).filter(|budget| {
                budget.selector.as_ref().is_some_and(|selector| selector.match_labels == labels)
            });
            let its: Vec<_> = its.collect();
            let one = replicas < 2 || its.len() == 1;
            faults.unless(one, || format!("{}: {name}: {} budgets", overlay.name, its.len()));
            for budget in its {
                let some =
                    matches!(budget.max_unavailable, Some(IntOrString::Int(most)) if most > 0);
                faults.unless(some, || format!("{}: {name}: no pod may go", overlay.name));
            }
        }
    }
    faults.none();
}

#[test]
fn a_roll_out_never_has_fewer_pods_than_before() {
    for overlay in Overlay::each() {
        for deployment in overlay.all::<Deployment>() {
            let name = name_of(&deployment);
            let strategy = deployment.spec.and_then(|spec| spec.strategy).unwrap_or_default();
            let rolling = strategy.rolling_update.unwrap_or_default();
            let none = rolling.max_unavailable == Some(IntOrString::Int(0));
            assert!(none, "{}: {name} may be unavailable", overlay.name);
        }
    }
}

#[test]
fn in_production_there_are_three_of_each_and_an_autoscaler_alone_says_so() {
    let overlay = Overlay::production();
    let scalers = scalers(&overlay);
    for deployment in overlay.all::<Deployment>() {
        let name = name_of(&deployment);
        let spec = deployment.spec.unwrap_or_default();
        // A number here would undo the autoscaler's work at each apply.
        assert_eq!(spec.replicas, None, "replicas of {name}");
        let least = scalers.get(&name).and_then(|scaler| scaler.min_replicas);
        assert!(least.is_some_and(|least| least >= 3), "{name}: {least:?} at least");
        let spread = spec.template.spec.and_then(|pod| pod.topology_spread_constraints);
        assert_eq!(
            spread.map(|rules| rules.len()),
            Some(2),
            "{name} is spread over zones and nodes"
        );
    }
}

#[test]
fn every_autoscaler_has_a_target_that_exists_and_scales_down_slowly() {
    let overlay = Overlay::production();
    let deployments: Vec<_> = overlay.all::<Deployment>().iter().map(name_of).collect();
    for (target, scaler) in scalers(&overlay) {
        assert_eq!(scaler.scale_target_ref.kind, "Deployment");
        assert_eq!(scaler.scale_target_ref.api_version.as_deref(), Some("apps/v1"));
        assert!(deployments.contains(&target), "there is no {target}");
        assert!(Some(scaler.max_replicas) > scaler.min_replicas, "{target} never grows");
        let down = scaler.behavior.and_then(|behavior| behavior.scale_down).unwrap_or_default();
        let window = down.stabilization_window_seconds;
        assert!(window.is_some_and(|window| window >= 300), "{target} shrinks after {window:?}");
    }
}

/// All relays of a database report the same backlog, so it must be taken once and divided, never averaged over pods.
#[test]
fn relays_scale_by_the_whole_backlog_of_their_own_database_divided_by_what_one_may_have() {
    let scalers = scalers(&Overlay::production());
    for relay in ["orders-relay", "inventory-relay"] {
        let metrics = scalers[relay].metrics.clone().unwrap_or_default();
        let [metric] = &metrics[..] else { panic!("{relay}: one metric") };
        let external = metric.external.clone().unwrap_or_else(|| panic!("{relay}: not External"));
        let name = external.metric.name;
        assert!(is_ours(&name), "the relay has no metric {name}");
        let selected = external.metric.selector.and_then(|selector| selector.match_labels);
        let of_relay = BTreeMap::from([("app".to_owned(), relay.to_owned())]);
        assert_eq!(selected, Some(of_relay), "{relay} looks at its own backlog");
        assert_eq!(external.target.type_, "AverageValue");
        assert!(external.target.average_value.is_some(), "{relay}: a backlog for each relay");
        assert!(
            adapted().contains(&(name.clone(), true)),
            "the adapter knows {name}, as a maximum"
        );
    }
}

/// The names that the adapter's rules give, and whether each is the maximum over its series.
fn adapted() -> Vec<(String, bool)> {
    let text = read("deploy/kubernetes/monitoring/adapter.yml");
    let rules: serde_json::Value = serde_saphyr::from_str(&text).expect("YAML");
    let rules = rules["rules"]["external"].as_array().cloned().unwrap_or_default();
    let read = |rule: serde_json::Value| {
        let query = rule["metricsQuery"].as_str().unwrap_or_default();
        let name = rule["name"]["as"].as_str().unwrap_or_default();
        let of_it = rule["seriesQuery"].as_str().is_some_and(|series| series.starts_with(name));
        (name.to_owned(), of_it && query.starts_with("max(") && query.ends_with("by (app)"))
    };
    rules.into_iter().map(read).collect()
}

/// By the name of their target.
fn scalers(overlay: &Overlay) -> BTreeMap<String, HorizontalPodAutoscalerSpec> {
    let scalers = overlay.all::<HorizontalPodAutoscaler>().into_iter();
    let specs = scalers.filter_map(|scaler| scaler.spec);
    specs.map(|spec| (spec.scale_target_ref.name.clone(), spec)).collect()
}
