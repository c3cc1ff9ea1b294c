//! `scripts/doctor` names what stands in a newcomer's way, and the fix.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A Docker that is fine. What follows `docker` decides what it says.
const FINE: &str = r#"
case "$*" in
*ServerVersion*) echo 28.1.0 ;;
*MemTotal*) echo 8000000000 ;;
*DockerRootDir*) echo / ;;
"compose version --short") echo 2.35.1 ;;
esac"#;

/// The parts of the repository that doctor looks at, in a place where they can be spoiled.
struct Clone {
    folder: TempDir,
    docker: String,
    environment: Vec<(&'static str, String)>,
}

impl Clone {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        for name in ["scripts/doctor", "docker-compose.yml", "Dockerfile"] {
            copy(root, folder.path(), Path::new(name));
        }
        for secret in fs::read_dir(root.join("deploy/compose/secrets")).expect("secrets") {
            let name = secret.expect("a file").file_name();
            copy(root, folder.path(), &Path::new("deploy/compose/secrets").join(name));
        }
        // Ports of the machine's own shop don't count here.
        let ports = [
            "ORDERS_PORT",
            "INVENTORY_PORT",
            "ORDERS_RELAY_PORT",
            "INVENTORY_RELAY_PORT",
            "PAGE_PORT",
        ];
        let environment = ports.map(|name| (name, free_port().to_string())).into();
        Self { folder, docker: FINE.to_owned(), environment }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Whether doctor is content, and what it says.
    fn examined(&self) -> (bool, String) {
        let bin = self.path("bin");
        fs::create_dir_all(&bin).expect("a folder");
        let docker = bin.join("docker");
        fs::write(&docker, format!("#!/bin/bash\n{}\n", self.docker)).expect("a program");
        fs::set_permissions(&docker, fs::Permissions::from_mode(0o755)).expect("the mode");
        let path = format!("{}:/usr/bin:/bin", bin.display());
        let output = Command::new("bash")
            .arg(self.path("scripts/doctor"))
            .env("PATH", path)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .output()
            .expect("doctor");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The one problem that doctor finds, with its fix.
    fn problem(&self) -> String {
        let (content, said) = self.examined();
        assert!(!content, "{said}");
        let mut problems = said.split("FIX   ").skip(1);
        let problem = problems.next().unwrap_or_else(|| panic!("no problem in: {said}"));
        assert!(problems.next().is_none(), "more than one problem: {said}");
        problem.lines().take(2).map(str::trim).collect::<Vec<_>>().join(" -> ")
    }
}

fn copy(from: &Path, to: &Path, name: &Path) {
    let target = to.join(name);
    fs::create_dir_all(target.parent().expect("a parent")).expect("a folder");
    fs::copy(from.join(name), target).expect("a copy");
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

#[test]
fn on_a_machine_that_has_everything_doctor_finds_nothing() {
    let (content, said) = Clone::new().examined();
    assert!(content, "{said}");
    assert!(!said.contains("FIX"), "{said}");
    assert!(said.ends_with("Nothing stands in the way of: docker compose up --wait\n"), "{said}");
}

#[test]
fn what_docker_lacks_is_named_with_what_to_install() {
    for (from, to, says) in [
        ("echo 28.1.0", "exit 1", "no Docker engine answers"),
        ("echo 28.1.0", "echo 19.3.1", "Docker 19.3.1 is too old -> update it to 20.10"),
        ("echo 2.35.1", "echo v2.19.9", "Docker Compose 2.19.9 is too old -> update it to 2.20"),
        ("echo 2.35.1", "exit 1", "Docker's plugin compose is missing -> install"),
        ("esac", "buildx*) exit 1 ;;\nesac", "Docker's plugin buildx is missing"),
        ("echo 8000000000", "echo 900000000", "Docker has 900 MB of memory"),
    ] {
        let mut clone = Clone::new();
        clone.docker = clone.docker.replace(from, to);
        let problem = clone.problem();
        assert!(problem.starts_with(says), "{problem}");
    }
}

#[test]
fn a_port_in_use_is_named_with_the_setting_that_changes_it() {
    let mut clone = Clone::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    clone.environment.retain(|(name, _)| *name != "ORDERS_PORT");
    fs::write(clone.path(".env"), format!("ORDERS_PORT={port}\n")).expect("settings");
    let problem = clone.problem();
    assert!(problem.starts_with(&format!("port {port} is in use")), "{problem}");
    assert!(problem.contains("ORDERS_PORT="), "{problem}");
}

#[test]
fn ports_that_are_none_or_the_same_twice_are_named() {
    for (ports, says) in [
        ("PAGE_PORT=99999 # mine", "PAGE_PORT is no port number: 99999 -> correct it"),
        ("PAGE_PORT=eighty", "PAGE_PORT is no port number: eighty -> correct it"),
        ("ORDERS_PORT=1\nPAGE_PORT='1'", "port 1 is given twice, to PAGE_PORT too -> choose"),
    ] {
        let mut clone = Clone::new();
        clone.environment.retain(|(name, _)| !ports.contains(name));
        fs::write(clone.path(".env"), format!("{ports}\r\n")).expect("settings");
        let problem = clone.problem();
        assert!(problem.starts_with(says), "{problem}");
    }
}

#[test]
fn windows_line_endings_are_found() {
    let clone = Clone::new();
    let file = clone.path("docker-compose.yml");
    let text = fs::read_to_string(&file).expect("the file").replace('\n', "\r\n");
    fs::write(&file, text).expect("written");
    let problem = clone.problem();
    assert!(problem.starts_with("line endings of Windows in docker-compose.yml"), "{problem}");
}

#[test]
fn secrets_that_the_containers_cannot_read_are_found() {
    let clone = Clone::new();
    let secret = clone.path("deploy/compose/secrets/admin-token");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).expect("the mode");
    assert!(clone.problem().contains("can't be read by the containers' users -> chmod"));
    fs::remove_file(secret).expect("removed");
    fs::write(clone.path(".env"), "SECRETS_DIR=elsewhere\n").expect("settings");
    assert!(clone.problem().starts_with("the secret elsewhere/"));
}
