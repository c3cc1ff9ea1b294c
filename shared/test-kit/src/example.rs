use std::path::PathBuf;
use std::process::Command;

/// The example of a crate's README, which must be the program that it seems to be.
#[derive(Debug, Clone, Copy)]
pub struct Example {
    /// The README's text.
    pub readme: &'static str,
    /// The program's source. What the README shows of it stands between `// ANCHOR: name` and
    /// `// ANCHOR_END: name`.
    pub source: &'static str,
    /// Its name, as `cargo run --example` takes it.
    pub name: &'static str,
}

impl Example {
    /// Runs the program that was built beside the test, and compares what it prints with what the
    /// README has under the command.
    ///
    /// # Panics
    /// They differ, or the program is missing or fails.
    pub fn prints_what_the_readme_says(&self) {
        let command = format!("--example {}\n", self.name);
        let (_, block) = self.readme.split_once(&command).expect("the README runs the example");
        let (expected, _) = block.split_once("```").expect("the block ends");

        let output = Command::new(built(self.name)).output().expect("it runs");

        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{errors}");
    }

    /// Compares the three parts that the README shows with the source.
    ///
    /// # Panics
    /// One of them differs.
    pub fn is_shown_as_it_is(&self) {
        let parts: Vec<_> = self.source.split("// ANCHOR: ").skip(1).collect();
        assert_eq!(parts.len(), 3);
        for part in parts {
            let (name, rest) = part.split_once('\n').expect("a name");
            let (code, _) = rest.split_once("// ANCHOR_END: ").expect("an end");
            let shown = format!("```rust\n{}```", dedented(code));
            assert!(self.readme.contains(&shown), "{name}: the README lacks\n{shown}");
        }
    }
}

/// Without the indentation of its first line.
fn dedented(code: &str) -> String {
    let indentation = code.len() - code.trim_start().len();
    let lines = code.lines().map(|line| line.get(indentation..).unwrap_or_default());
    lines.map(|line| format!("{line}\n")).collect::<String>().trim_end().to_owned() + "\n"
}

/// Cargo builds the examples together with the tests, into a folder beside them.
fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let folder = test.parent().and_then(|deps| deps.parent()).expect("target/<profile>/deps");
    let program = folder.join("examples").join(name);
    assert!(program.exists(), "{} is missing: cargo build --examples", program.display());
    program
}
