//! Every field is one that the API knows. Unknown fields are dropped when an object is read into its type, so what
//! comes back from there shows them; required ones that are missing come back as additions.

use k8s_openapi::Resource;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::{Ingress, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::faults::Faults;
use crate::overlay::{Overlay, title};

#[test]
fn every_field_is_known_to_the_api_and_none_that_it_requires_is_missing() {
    let mut faults = Faults::default();
    for overlay in Overlay::each() {
        for object in &overlay.objects {
            let at = format!("{}: {}", overlay.name, title(object));
            match through_its_type(object) {
                Ok(back) => compare(&at, object, &back, &mut faults),
                Err(error) => faults.unless(false, || format!("{at}: {error}")),
            }
        }
    }
    faults.none();
}

#[test]
fn every_word_of_a_fixed_set_is_one_of_that_set() {
    let mut faults = Faults::default();
    for overlay in Overlay::each() {
        for object in &overlay.objects {
            words(&format!("{}: {}", overlay.name, title(object)), object, &mut faults);
        }
    }
    faults.none();
}

/// Fields that take one of a few words. The API's types have them as plain strings.
const WORDS: [(&str, &[&str]); 15] = [
    (".policyTypes[]", &["Ingress", "Egress"]),
    (".protocol", &["TCP", "UDP"]),
    (".strategy.type", &["RollingUpdate", "Recreate"]),
    (".seccompProfile.type", &["RuntimeDefault"]),
    (".capabilities.drop[]", &["ALL"]),
    (".restartPolicy", &["Never", "OnFailure"]),
    (".whenUnsatisfiable", &["ScheduleAnyway", "DoNotSchedule"]),
    (".unhealthyPodEvictionPolicy", &["AlwaysAllow", "IfHealthyBudget"]),
    (".fsGroupChangePolicy", &["OnRootMismatch", "Always"]),
    (".accessModes[]", &["ReadWriteOnce", "ReadWriteOncePod"]),
    (".pathType", &["Prefix", "Exact"]),
    (".operator", &["In", "NotIn", "Exists", "DoesNotExist"]),
    (".metrics[].type", &["External", "Resource"]),
    (".target.type", &["AverageValue", "Value", "Utilization"]),
    (".policies[].type", &["Pods", "Percent"]),
];

fn words(at: &str, value: &Value, faults: &mut Faults) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| words(&format!("{at}.{name}"), field, faults));
        }
        Value::Array(items) => {
            items.iter().for_each(|item| words(&format!("{at}[]"), item, faults));
        }
        Value::String(word) => {
            let set = WORDS.iter().find(|(field, _)| at.ends_with(field));
            let known = set.is_none_or(|(_, words)| words.contains(&word.as_str()));
            faults.unless(known, || format!("{at}: {word} is none of its words"));
        }
        _ => {}
    }
}

/// Reads an object into the type of its kind and writes it again.
fn through_its_type(object: &Value) -> Result<Value, String> {
    let kinds = [
        kind::<ConfigMap>(),
        kind::<Deployment>(),
        kind::<HorizontalPodAutoscaler>(),
        kind::<Ingress>(),
        kind::<Job>(),
        kind::<Namespace>(),
        kind::<NetworkPolicy>(),
        kind::<PodDisruptionBudget>(),
        kind::<Secret>(),
        kind::<Service>(),
        kind::<ServiceAccount>(),
        kind::<StatefulSet>(),
    ];
    let its =
        |(version, kind, _): &&Kind| object["apiVersion"] == *version && object["kind"] == *kind;
    let Some((_, _, through)) = kinds.iter().find(its) else {
        return Err(format!("{} is no kind that this test knows", object["apiVersion"]));
    };
    through(object).map_err(|error| error.to_string())
}

/// Version and name of a kind, and the way through its type.
type Kind = (&'static str, &'static str, fn(&Value) -> serde_json::Result<Value>);

fn kind<K: Resource + DeserializeOwned + Serialize>() -> Kind {
    (K::API_VERSION, K::KIND, |object| serde_json::to_value(K::deserialize(object)?))
}

fn compare(at: &str, written: &Value, read: &Value, faults: &mut Faults) {
    match (written, read) {
        (Value::Object(written), Value::Object(read)) => {
            for (name, value) in written {
                match read.get(name) {
                    Some(back) => compare(&format!("{at}.{name}"), value, back, faults),
                    None => {
                        faults.unless(false, || format!("{at}.{name}: the API has no such field"))
                    }
                }
            }
            for name in read.keys().filter(|name| !written.contains_key(*name)) {
                faults.unless(false, || format!("{at}.{name}: required, and missing"));
            }
        }
        (Value::Array(written), Value::Array(read)) if written.len() == read.len() => {
            for (index, (value, back)) in written.iter().zip(read).enumerate() {
                compare(&format!("{at}[{index}]"), value, back, faults);
            }
        }
        _ => faults.unless(written == read, || format!("{at}: {written} is read as {read}")),
    }
}
