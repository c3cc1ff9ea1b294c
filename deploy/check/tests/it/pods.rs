//! What holds for every pod.

use k8s_openapi::api::core::v1::{Container, PodSpec};

use crate::faults::Faults;
use crate::overlay::{Overlay, Workload, read};

/// One fault for each pod, or container of a pod, for which the sentence does not hold.
fn of_every_workload(check: impl Fn(&Workload, &mut dyn FnMut(bool, &str))) {
    let mut faults = Faults::default();
    for overlay in Overlay::each() {
        for workload in overlay.workloads() {
            check(&workload, &mut |holds, what| {
                faults.unless(holds, || format!("{}: {}: {what}", overlay.name, workload.title()));
            });
        }
    }
    faults.none();
}

#[test]
fn every_container_meets_the_restricted_standard_and_cannot_write_its_root() {
    of_every_workload(|workload, say| {
        let pod = workload.pod.security_context.clone().unwrap_or_default();
        say(pod.run_as_non_root == Some(true), "runAsNonRoot is not true");
        say(pod.run_as_user.is_some_and(|user| user > 0), "no runAsUser above 0");
        let seccomp = pod.seccomp_profile.map(|profile| profile.type_);
        say(seccomp.as_deref() == Some("RuntimeDefault"), "seccomp is not RuntimeDefault");
        let host = |share: Option<bool>| share != Some(true);
        say(host(workload.pod.host_network), "is on the host's network");
        say(host(workload.pod.host_pid) && host(workload.pod.host_ipc), "shares with the host");
        let on_host = |pod: &PodSpec| pod.volumes.iter().flatten().any(|v| v.host_path.is_some());
        say(!on_host(&workload.pod), "mounts a folder of the host");
        for container in workload.containers() {
            let own = container.security_context.clone().unwrap_or_default();
            let say = &mut |holds, what: &str| say(holds, &format!("{}: {what}", container.name));
            say(own.allow_privilege_escalation == Some(false), "may escalate its privileges");
            say(own.read_only_root_filesystem == Some(true), "may write its root");
            say(own.privileged != Some(true), "is privileged");
            say(
                own.run_as_user.is_none() && own.run_as_non_root.is_none(),
                "has a user of its own",
            );
            let capabilities = own.capabilities.unwrap_or_default();
            say(capabilities.drop == Some(vec!["ALL".to_owned()]), "does not drop ALL");
            say(capabilities.add.is_none(), "adds capabilities");
        }
    });
}

#[test]
fn no_pod_holds_a_token_of_the_cluster_and_none_gets_variables_from_services() {
    of_every_workload(|workload, say| {
        say(workload.pod.automount_service_account_token == Some(false), "mounts a token");
        say(workload.pod.enable_service_links == Some(false), "gets variables from Services");
    });
}

#[test]
fn every_container_says_what_it_needs_and_how_much_memory_it_may_take() {
    of_every_workload(|workload, say| {
        for container in workload.containers() {
            let resources = container.resources.clone().unwrap_or_default();
            let requests = resources.requests.unwrap_or_default();
            say(requests.contains_key("cpu"), "requests no cpu");
            say(requests.contains_key("memory"), "requests no memory");
            say(resources.limits.unwrap_or_default().contains_key("memory"), "no limit of memory");
        }
    });
}

#[test]
fn every_image_has_a_version() {
    of_every_workload(|workload, say| {
        for container in workload.containers() {
            let image = container.image.clone().unwrap_or_default();
            let tag = image.rsplit('/').next().and_then(|last| last.split_once(':'));
            let fixed = tag.is_some_and(|(_, tag)| !tag.is_empty() && tag != "latest");
            say(fixed, &format!("the image {image} has no version"));
        }
    });
}

#[test]
fn every_server_is_asked_whether_it_started_lives_and_is_ready() {
    of_every_workload(|workload, say| {
        for container in workload.containers().filter(|container| container.ports.is_some()) {
            say(container.startup_probe.is_some(), "no startupProbe");
            say(container.liveness_probe.is_some(), "no livenessProbe");
            say(container.readiness_probe.is_some(), "no readinessProbe");
        }
    });
}

#[test]
fn liveness_of_a_program_asks_neither_database_nor_broker_and_readiness_does() {
    of_every_workload(|workload, say| {
        for container in workload.containers().filter(|container| is_ours(container)) {
            let path = |probe: &Option<k8s_openapi::api::core::v1::Probe>| {
                probe.as_ref().and_then(|probe| probe.http_get.as_ref()?.path.clone())
            };
            let paths = [
                (path(&container.startup_probe), "/health/live"),
                (path(&container.liveness_probe), "/health/live"),
                (path(&container.readiness_probe), "/health/ready"),
            ];
            if container.ports.is_some() {
                for (asked, right) in paths {
                    say(asked.as_deref() == Some(right), &format!("{asked:?} is not {right}"));
                }
            }
        }
    });
}

/// A probe that ends before the check does sees a time-out, and nobody the reason.
#[test]
fn readiness_of_a_program_has_twice_the_time_that_its_check_gives_the_database() {
    let check = seconds("shared/service-kit/src/health.rs", "CHECK_TIMEOUT");
    of_every_workload(|workload, say| {
        for container in workload.containers().filter(|container| is_ours(container)) {
            let Some(probe) = &container.readiness_probe else { continue };
            let given = i64::from(probe.timeout_seconds.unwrap_or(1));
            say(given >= 2 * check, &format!("readiness has {given} s, its check {check} s"));
        }
    });
}

#[test]
fn a_program_has_more_time_to_stop_than_it_takes() {
    of_every_workload(|workload, say| {
        let grace = workload.pod.termination_grace_period_seconds.unwrap_or(30);
        let ours = workload.containers().filter(|container| is_ours(container));
        for container in ours.filter(|container| container.ports.is_some()) {
            let before =
                container.lifecycle.as_ref().and_then(|lifecycle| lifecycle.pre_stop.clone());
            say(before.is_some(), "does not wait until no Service sends it requests any more");
            let before = before.unwrap_or_default();
            say(before.exec.is_none(), "preStop needs a program in the image");
            let before = before.sleep.map_or(0, |sleep| sleep.seconds);
            let needed = before + seconds("shared/service-kit/src/server.rs", "DRAIN_TIMEOUT");
            say(grace > needed, &format!("{grace} s to stop, and it may take {needed} s"));
        }
    });
}

/// Whether the image is built from this repository.
fn is_ours(container: &Container) -> bool {
    container.image.as_deref().is_some_and(|image| image.contains("once-shop/"))
}

/// A duration of the programs, from their source.
fn seconds(file: &str, name: &str) -> i64 {
    let source = read(file);
    let seconds = source
        .split_once(&format!("const {name}: Duration = Duration::from_secs("))
        .and_then(|(_, rest)| rest.split_once(')'))
        .and_then(|(seconds, _)| seconds.parse().ok());
    seconds.unwrap_or_else(|| panic!("{file} says no {name} in seconds"))
}

#[test]
fn every_file_of_a_secret_can_be_read_by_its_program_and_by_nobody_else() {
    of_every_workload(|workload, say| {
        let group = workload.pod.security_context.as_ref().and_then(|context| context.fs_group);
        let user = workload.pod.security_context.as_ref().and_then(|context| context.run_as_user);
        for volume in workload.pod.volumes.iter().flatten() {
            let mode = match (&volume.projected, &volume.secret) {
                (Some(projected), _) => projected.default_mode,
                (_, Some(secret)) => secret.default_mode,
                _ => continue,
            };
            say(mode == Some(0o440), &format!("{}: its mode is not 0440", volume.name));
            say(group.is_some() && group == user, "fsGroup is not the group of the program");
        }
    });
}
