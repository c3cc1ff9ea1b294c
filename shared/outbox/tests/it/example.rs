//! The README's example is a program, and does what the README says.

use std::path::PathBuf;
use std::process::Command;

const README: &str = include_str!("../../README.md");
const EXAMPLE: &str = include_str!("../../examples/axum_orders.rs");
const COMMAND: &str = "$ cargo run -q -p outbox --example axum_orders\n";

#[test]
fn the_example_prints_what_the_readme_says() {
    let (_, block) = README.split_once(COMMAND).expect("the README runs the example");
    let (expected, _) = block.split_once("```").expect("the block ends");

    let output = Command::new(built_example()).output().expect("it runs");

    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{errors}");
}

#[test]
fn the_readme_shows_the_example_as_it_is() {
    let parts: Vec<_> = EXAMPLE.split("// ANCHOR: ").skip(1).collect();
    assert_eq!(parts.len(), 3);
    for part in parts {
        let (name, rest) = part.split_once('\n').expect("a name");
        let (code, _) = rest.split_once("// ANCHOR_END: ").expect("an end");
        let shown = format!("```rust\n{}```", dedented(code));
        assert!(README.contains(&shown), "{name}: the README lacks\n{shown}");
    }
}

/// Without the indentation of its first line.
fn dedented(code: &str) -> String {
    let indentation = code.len() - code.trim_start().len();
    let lines = code.lines().map(|line| line.get(indentation..).unwrap_or_default());
    lines.map(|line| format!("{line}\n")).collect::<String>().trim_end().to_owned() + "\n"
}

/// Cargo builds the examples together with the tests, into a folder beside them.
fn built_example() -> PathBuf {
    let name = COMMAND.trim_end().rsplit(' ').next().expect("a name");
    let test = std::env::current_exe().expect("a test has a path");
    let folder = test.parent().and_then(|deps| deps.parent()).expect("target/<profile>/deps");
    let program = folder.join("examples").join(name);
    assert!(program.exists(), "{} is missing: cargo build --examples", program.display());
    program
}
