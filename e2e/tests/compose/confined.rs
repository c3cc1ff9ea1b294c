//! What the containers may not do.

use crate::stack::{Stack, docker, inspect};

const IMAGES: [&str; 5] =
    ["migrate", "order-service", "inventory-service", "outbox-relay", "playground"];

/// What an image may add to its base, in bytes.
const LARGEST: u64 = 60_000_000;

#[test]
fn an_image_is_small_and_has_a_user_a_stop_signal_and_a_health_check() {
    let base: u64 = inspect("debian:trixie-slim", "{{.Size}}").parse().expect("a size");
    for name in IMAGES {
        let image = format!("once-shop/{name}");
        let size: u64 = inspect(&image, "{{.Size}}").parse().expect("a size");
        assert!(size - base < LARGEST, "{name} adds {} bytes", size - base);
        println!("{name} adds {} MB to its base", (size - base) / 1_000_000);
        assert_eq!(inspect(&image, "{{.Config.User}}"), "65532:65532", "{name}");
        assert_eq!(inspect(&image, "{{.Config.StopSignal}}"), "SIGTERM", "{name}");
        assert!(inspect(&image, "{{json .Config.Entrypoint}}").contains(name), "{name}");
        if name != "migrate" {
            let check = inspect(&image, "{{json .Config.Healthcheck.Test}}");
            assert_eq!(check, format!(r#"["CMD","{name}","healthcheck"]"#));
        }
    }
}

#[test]
fn a_container_of_the_stack_has_no_capabilities_and_our_programs_can_write_nowhere() {
    let stack = Stack::up(&[]);
    for id in stack.containers(None) {
        let name = inspect(&id, "{{.Name}}");
        assert_eq!(inspect(&id, "{{.HostConfig.CapDrop}}"), "[ALL]", "{name}");
        assert_eq!(inspect(&id, "{{.HostConfig.CapAdd}}"), "[]", "{name}");
        let options = inspect(&id, "{{.HostConfig.SecurityOpt}}");
        assert!(options.contains("no-new-privileges:true"), "{name}: {options}");
        assert_ne!(inspect(&id, "{{.HostConfig.Memory}}"), "0", "{name} has no memory limit");
        assert_eq!(inspect(&id, "{{.HostConfig.RestartPolicy.Name}}"), "unless-stopped", "{name}");
        assert_published_on_loopback_only(&id, &name);
        assert_process_has_nothing(&id, &name);
        if inspect(&id, "{{.Config.Image}}").starts_with("once-shop/") {
            assert_eq!(inspect(&id, "{{.HostConfig.ReadonlyRootfs}}"), "true", "{name}");
            assert_eq!(inspect(&id, "{{.Config.User}}"), "65532:65532", "{name}");
        }
    }
}

fn assert_published_on_loopback_only(id: &str, name: &str) {
    let format = "{{range .NetworkSettings.Ports}}{{range .}}{{.HostIp}} {{end}}{{end}}";
    let addresses = inspect(id, format);
    assert!(
        addresses.split(' ').all(|ip| ip.is_empty() || ip == "127.0.0.1"),
        "{name}: {addresses}"
    );
    let server = name.contains("postgres") || name.contains("rabbitmq");
    assert!(!server || addresses.is_empty(), "{name} is published: {addresses}");
}

/// What the kernel says of the running process, and not what was asked for.
fn assert_process_has_nothing(id: &str, name: &str) {
    let pid = inspect(id, "{{.State.Pid}}");
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a Linux process");
    let field = |wanted: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(wanted));
        line.map(str::trim).unwrap_or_default().to_owned()
    };
    for set in ["CapEff:", "CapPrm:", "CapBnd:"] {
        assert_eq!(field(set), "0000000000000000", "{name} {set}");
    }
    assert_eq!(field("NoNewPrivs:"), "1", "{name}");
    assert!(!field("Uid:").starts_with("0\t"), "{name} runs as root");
}

#[test]
fn the_whole_stack_fits_in_its_memory() {
    let stack = Stack::up(&[]);
    let mut total = 0.0;
    for id in stack.containers(None) {
        let usage = docker(&["stats", "--no-stream", "--format", "{{.MemUsage}}", &id]);
        total += mebibytes(usage.split(" / ").next().expect("a figure"));
    }
    println!("the whole stack uses {total:.0} MiB");
    assert!(total < 1200.0 * 1e6 / 1024.0 / 1024.0, "the stack uses {total} MiB");
}

fn mebibytes(text: &str) -> f64 {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).expect("a unit");
    let (number, unit) = text.split_at(split);
    let factor = match unit {
        "B" => 1.0 / 1024.0 / 1024.0,
        "KiB" => 1.0 / 1024.0,
        "MiB" => 1.0,
        "GiB" => 1024.0,
        other => panic!("an unknown unit {other}"),
    };
    number.parse::<f64>().expect("a number") * factor
}
