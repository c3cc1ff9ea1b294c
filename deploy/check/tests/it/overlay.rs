//! An overlay, rendered, and its objects by type.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::{Metadata, Resource};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) type Labels = BTreeMap<String, String>;

/// The label by which selectors find a workload.
pub(crate) const NAME: &str = "app.kubernetes.io/name";

/// The objects that one `kubectl apply -k` would send.
pub(crate) struct Overlay {
    pub(crate) name: &'static str,
    pub(crate) objects: Vec<Value>,
}

/// Something that makes pods.
pub(crate) struct Workload {
    pub(crate) kind: &'static str,
    /// As it is labelled: the names of Jobs carry a version.
    pub(crate) name: String,
    pub(crate) labels: Labels,
    /// What the object selects its pods by. A Job's selector is made by the cluster.
    pub(crate) selector: Option<LabelSelector>,
    pub(crate) pod: PodSpec,
}

impl Overlay {
    pub(crate) fn demo() -> Self {
        Self::render("demo")
    }

    pub(crate) fn production() -> Self {
        Self::render("production")
    }

    pub(crate) fn each() -> [Self; 2] {
        [Self::demo(), Self::production()]
    }

    fn render(name: &'static str) -> Self {
        let folder = deploy().join("kubernetes/overlays").join(name);
        let objects = serde_saphyr::from_multiple(&kustomize(&folder));
        let objects: Vec<Value> = objects.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!objects.is_empty(), "{name} renders to nothing");
        Self { name, objects }
    }

    /// All objects of a kind.
    pub(crate) fn all<K: Resource + DeserializeOwned>(&self) -> Vec<K> {
        let of_kind =
            |object: &&Value| object["kind"] == K::KIND && object["apiVersion"] == K::API_VERSION;
        let read = |object: &Value| {
            let error = |error| panic!("{}: {}: {error}", self.name, title(object));
            serde_json::from_value(object.clone()).unwrap_or_else(error)
        };
        self.objects.iter().filter(of_kind).map(read).collect()
    }

    /// Everything that makes pods.
    pub(crate) fn workloads(&self) -> Vec<Workload> {
        let deployments = self.all::<Deployment>().into_iter().map(|deployment| {
            let spec = deployment.spec.expect("a spec");
            workload("Deployment", Some(spec.selector), spec.template)
        });
        let stateful_sets = self.all::<StatefulSet>().into_iter().map(|set| {
            let spec = set.spec.expect("a spec");
            workload("StatefulSet", Some(spec.selector), spec.template)
        });
        let jobs = self.all::<Job>().into_iter().map(|job| {
            let spec = job.spec.expect("a spec");
            workload("Job", spec.selector, spec.template)
        });
        deployments.chain(stateful_sets).chain(jobs).collect()
    }
}

impl Workload {
    /// Its containers, those that run before it too.
    pub(crate) fn containers(&self) -> impl Iterator<Item = &Container> {
        self.pod.init_containers.iter().flatten().chain(&self.pod.containers)
    }

    /// Where it listens: the names and numbers of its ports.
    pub(crate) fn ports(&self) -> BTreeMap<String, i32> {
        let ports = self.containers().flat_map(|container| container.ports.iter().flatten());
        ports.map(|port| (port.name.clone().unwrap_or_default(), port.container_port)).collect()
    }

    /// For people.
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.kind, self.name)
    }
}

fn workload(
    kind: &'static str,
    selector: Option<LabelSelector>,
    template: PodTemplateSpec,
) -> Workload {
    let labels = template.metadata.and_then(|metadata| metadata.labels).unwrap_or_default();
    let name = labels.get(NAME).unwrap_or_else(|| panic!("a {kind} without {NAME}")).clone();
    Workload { kind, name, labels, selector, pod: template.spec.expect("a pod") }
}

/// The name that an object has in its namespace.
pub(crate) fn name_of(object: &impl Metadata<Ty = ObjectMeta>) -> String {
    object.metadata().name.clone().unwrap_or_default()
}

/// Kind and name, for people.
pub(crate) fn title(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]))
}

/// The folder `deploy`.
pub(crate) fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a parent").to_owned()
}

/// A file of the repository.
pub(crate) fn read(file: &str) -> String {
    let path = deploy().parent().expect("a parent").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Renders a folder, by `kubectl` if it is there, else by `kustomize`. Neither asks a cluster or the network.
fn kustomize(folder: &Path) -> String {
    for command in [["kubectl", "kustomize"], ["kustomize", "build"]] {
        match Command::new(command[0]).arg(command[1]).arg(folder).output() {
            Ok(output) if output.status.success() => {
                return String::from_utf8(output.stdout).expect("UTF-8");
            }
            Ok(output) => panic!(
                "{} {}: {}",
                command.join(" "),
                folder.display(),
                String::from_utf8_lossy(&output.stderr).trim()
            ),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => panic!("{}: {error}", command[0]),
        }
    }
    panic!("neither kubectl nor kustomize is installed: scripts/setup installs kustomize")
}
