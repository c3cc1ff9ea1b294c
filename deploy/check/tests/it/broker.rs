//! Who comes to the broker as whom. Each program is a user of its own there, so that one that is broken into can do
//! no more than its job.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{ConfigMap, Container};
use serde_json::{Value, json};

use crate::faults::Faults;
use crate::network::PROGRAMS;
use crate::overlay::{Overlay, Workload, name_of, read};

/// The rights that a test of `shared/contracts` works with on a real broker.
const RIGHTS: &str = "shared/contracts/broker-rights.json";

/// The broker of the demo, the only other pod that holds a program's password for it.
const BROKER: &str = "rabbitmq";

/// What its container runs.
const START: &str = "/etc/shop/start";

/// A Secret and a key of it.
type Entry = (String, String);

#[test]
fn each_program_comes_to_the_broker_as_a_user_of_its_own_and_no_other_pod_holds_its_password() {
    let mut faults = Faults::default();
    for overlay in Overlay::each() {
        let workloads = overlay.workloads();
        let mut users = BTreeSet::new();
        for workload in workloads.iter().filter(|it| value(it, "BROKER_URL").is_some()) {
            let at = format!("{}: {}", overlay.name, workload.title());
            let url = value(workload, "BROKER_URL").unwrap_or_default();
            let own = format!("amqp://{}@$(BROKER_HOSTS)/shop", workload.name);
            faults.unless(url == own, || format!("{at}: BROKER_URL is {url}, not {own}"));
            let Some(password) = password(workload) else {
                faults
                    .unless(false, || format!("{at}: BROKER_PASSWORD_FILE is no key of a Secret"));
                continue;
            };
            let holders = workloads.iter().filter(|other| holds(other, &password.0));
            let holders: BTreeSet<_> = holders.map(|other| other.name.as_str()).collect();
            let others: Vec<_> = holders
                .into_iter()
                .filter(|it| ![&workload.name[..], BROKER].contains(it))
                .collect();
            faults.unless(others.is_empty(), || format!("{at}: {others:?} hold {}", password.0));
            users.insert(workload.name.clone());
        }
        let mut wanted: BTreeSet<_> = PROGRAMS.map(str::to_owned).into();
        wanted.extend((overlay.name == "demo").then(|| "playground".to_owned()));
        faults.unless(users == wanted, || format!("{}: users are {users:?}", overlay.name));
    }
    faults.none();
}

/// With rights for its own queues alone, a program that declared all of them would be refused.
#[test]
fn each_program_declares_no_more_at_the_broker_than_its_own_queues() {
    for overlay in Overlay::each() {
        let configs: Vec<ConfigMap> = overlay.all();
        let settings = configs.iter().filter(|it| name_of(*it).starts_with("settings"));
        let [settings] = &settings.collect::<Vec<_>>()[..] else {
            panic!("one ConfigMap settings")
        };
        let data = settings.data.clone().unwrap_or_default();
        let declares = data.get("BROKER_DECLARE").map(String::as_str);
        assert_eq!(declares, Some("own"), "{}", overlay.name);
        for workload in overlay.workloads().iter().filter(|it| PROGRAMS.contains(&&it.name[..])) {
            let from = workload.containers().flat_map(|it| it.env_from.iter().flatten());
            let mut names = from.filter_map(|it| Some(it.config_map_ref.as_ref()?.name.clone()));
            assert!(names.any(|name| name == name_of(*settings)), "{} reads it", workload.title());
            assert_eq!(
                value(workload, "BROKER_DECLARE"),
                None,
                "{} overrides it",
                workload.title()
            );
        }
    }
}

#[test]
fn the_demo_s_broker_knows_each_program_by_the_password_that_the_program_holds() {
    let overlay = Overlay::demo();
    let (workloads, broker) = (overlay.workloads(), demo_broker(&overlay));
    let files = secret_files(&broker);
    let users = definitions(&overlay)["users"].as_array().cloned().expect("users");
    let mut passwords = BTreeMap::new();
    for user in users {
        let name = user["name"].as_str().expect("a name").to_owned();
        let filled = user["password"].as_str().expect("a password");
        let file = filled.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
        // The folder in which the start script looks.
        let file = format!("/run/secrets/{}", file.expect("a file's name in braces"));
        let entry = files.get(&file).unwrap_or_else(|| panic!("{name}: no file {file}"));
        passwords.insert(name, entry.clone());
    }
    assert!(passwords.remove("admin").is_some(), "somebody may look after it");
    let held = workloads.iter().filter(|it| value(it, "BROKER_URL").is_some());
    let held: BTreeMap<_, _> =
        held.map(|it| (it.name.clone(), password(it).expect("a password"))).collect();
    assert_eq!(passwords, held);
}

#[test]
fn the_demo_s_broker_gives_each_program_exactly_the_rights_that_it_needs() {
    let rights: Value = serde_json::from_str(&read(RIGHTS)).expect("JSON");
    let given = definitions(&Overlay::demo())["permissions"].as_array().cloned();
    let mut given = given.expect("permissions");
    given.retain(|permission| permission["user"] != "admin");
    for permission in &mut given {
        let vhost = permission.as_object_mut().expect("an object").remove("vhost");
        assert_eq!(vhost, Some(json!("shop")));
    }
    assert_eq!(Value::Array(given), rights["permissions"]);
}

#[test]
fn the_demo_s_broker_stops_publishers_before_the_kernel_stops_it() {
    let overlay = Overlay::demo();
    let broker = demo_broker(&overlay);
    let watermark: u64 = setting(&conf(&overlay), "vm_memory_high_watermark.absolute")
        .and_then(|limit| limit.strip_suffix("MB")?.parse().ok())
        .expect("a number of MB");
    let resources = server(&broker).resources.clone().unwrap_or_default();
    let limit = resources.limits.unwrap_or_default().remove("memory").expect("a limit");
    let limit: u64 =
        limit.0.strip_suffix("Mi").and_then(|n| n.parse().ok()).expect("a number of Mi");
    // Erlang's garbage collector may need as much again for a moment.
    assert!(watermark * 2 <= limit, "{watermark} MB of {limit} MiB");
}

/// Some engines allow a thousand million of them, and Erlang reserves memory for each.
#[test]
fn the_demo_s_broker_has_a_limit_on_its_open_files() {
    let overlay = Overlay::demo();
    let command = server(&demo_broker(&overlay)).command.clone().unwrap_or_default();
    assert_eq!(command, ["bash", START], "what starts the broker");
    assert!(mounted(&overlay, |path| path == START).contains("ulimit -n 65536"), "the limit");
}

#[test]
fn the_demo_s_broker_loads_the_definitions_from_where_its_start_puts_them_which_is_no_disk() {
    let overlay = Overlay::demo();
    let broker = demo_broker(&overlay);
    let loaded = setting(&conf(&overlay), "load_definitions").expect("definitions");
    let start = mounted(&overlay, |path| path == START);
    assert!(start.contains(&format!("FILLED={loaded}")), "the script does not write {loaded}");
    let folder = loaded.rsplit_once('/').map(|(folder, _)| folder);
    let mut mounts = server(&broker).volume_mounts.iter().flatten();
    let mount = mounts.find(|mount| Some(&mount.mount_path[..]) == folder).expect("a mount");
    let mut volumes = broker.pod.volumes.iter().flatten();
    let volume = volumes.find(|volume| volume.name == mount.name).expect("a volume");
    let medium = volume.empty_dir.as_ref().and_then(|dir| dir.medium.as_deref());
    assert_eq!(medium, Some("Memory"), "{loaded} holds passwords");
}

#[test]
fn the_readme_names_the_users_that_production_must_make_and_says_where_their_rights_stand() {
    let readme = read("deploy/kubernetes/README.md");
    let sentence = readme.lines().find(|line| line.contains("four users")).expect("a sentence");
    for program in PROGRAMS {
        assert!(sentence.contains(&format!("`{program}`")), "{program}: {sentence}");
    }
    assert!(readme.contains("(../../docs/contract.md#rights-at-the-broker)"), "their rights");
    assert!(read("docs/contract.md").contains("\n### Rights at the broker\n"), "the heading");
}

/// The value of a variable, where it stands in the manifest.
fn value(workload: &Workload, name: &str) -> Option<String> {
    let mut all = workload.containers().flat_map(|container| container.env.iter().flatten());
    all.find(|env| env.name == name).and_then(|env| env.value.clone())
}

/// Where the program's password for the broker comes from.
fn password(workload: &Workload) -> Option<Entry> {
    secret_files(workload).remove(&value(workload, "BROKER_PASSWORD_FILE")?)
}

/// Whether a pod holds any key of a Secret, by whatever way.
fn holds(workload: &Workload, secret: &str) -> bool {
    let pod = serde_json::to_value(&workload.pod).expect("JSON");
    names(&pod).contains(&secret)
}

/// Every string in it.
fn names(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(names).collect(),
        Value::Object(fields) => fields.values().flat_map(names).collect(),
        _ => vec![],
    }
}

/// The files that a pod's containers see of Secrets, by their path.
fn secret_files(workload: &Workload) -> BTreeMap<String, Entry> {
    let mut files = BTreeMap::new();
    for mount in workload.containers().flat_map(|it| it.volume_mounts.iter().flatten()) {
        let volumes = workload.pod.volumes.iter().flatten().filter(|it| it.name == mount.name);
        let projected = volumes.filter_map(|volume| volume.projected.as_ref());
        let sources = projected.flat_map(|it| it.sources.iter().flatten());
        for secret in sources.filter_map(|source| source.secret.as_ref()) {
            for item in secret.items.iter().flatten() {
                let entry = (secret.name.clone(), item.key.clone());
                files.insert(format!("{}/{}", mount.mount_path, item.path), entry);
            }
        }
    }
    files
}

fn demo_broker(overlay: &Overlay) -> Workload {
    let mut all = overlay.workloads().into_iter();
    all.find(|workload| workload.name == BROKER).expect("the demo has a broker")
}

fn server(broker: &Workload) -> &Container {
    let [server] = &broker.pod.containers[..] else { panic!("one container") };
    server
}

fn definitions(overlay: &Overlay) -> Value {
    let text = mounted(overlay, |path| path == "/etc/shop/definitions.json");
    serde_json::from_str(&text).expect("JSON")
}

/// The one file of settings that the broker finds beside its own.
fn conf(overlay: &Overlay) -> String {
    mounted(overlay, |path| path.starts_with("/etc/rabbitmq/conf.d/"))
}

/// The content of the one file of a ConfigMap that the broker sees at such a path.
fn mounted(overlay: &Overlay, at: impl Fn(&str) -> bool) -> String {
    let broker = demo_broker(overlay);
    let configs: Vec<ConfigMap> = overlay.all();
    let mut found = vec![];
    for mount in server(&broker).volume_mounts.iter().flatten() {
        let volumes = broker.pod.volumes.iter().flatten().filter(|it| it.name == mount.name);
        let named: Vec<_> = volumes.filter_map(|it| Some(&it.config_map.as_ref()?.name)).collect();
        let its = configs.iter().filter(|config| named.contains(&&name_of(*config)));
        for (key, text) in its.flat_map(|config| config.data.iter().flatten()) {
            let path = match &mount.sub_path {
                Some(only) if only == key => mount.mount_path.clone(),
                Some(_) => continue,
                None => format!("{}/{key}", mount.mount_path),
            };
            found.extend(at(&path).then(|| text.clone()));
        }
    }
    assert_eq!(found.len(), 1, "files at that path");
    found.remove(0)
}

/// A line of `rabbitmq.conf`.
fn setting(conf: &str, name: &str) -> Option<String> {
    let lines = conf.lines().filter_map(|line| line.split_once(" = "));
    lines.filter(|(key, _)| *key == name).map(|(_, value)| value.to_owned()).next()
}
