//! What the documents say of settings, files and names in them is what is there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use e2e::shop_binary;

/// The workspace's own folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a parent").to_owned()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A setting as a line of a table: variable, flag, default, text.
type Setting = [String; 4];

#[test]
fn the_settings_tables_of_the_contract_are_what_help_says() {
    let contract = read(&root().join("docs/contract.md"));
    let (_, settings) = contract.split_once("\n## Settings\n").expect("the settings");
    for (program, command) in [
        ("order-service", &["order-service"][..]),
        ("inventory-service", &["inventory-service"]),
        ("outbox-relay", &["outbox-relay"]),
        ("migrate", &["migrate"]),
        ("playground", &[]),
        ("playground page", &["page"]),
    ] {
        let (_, section) = settings.split_once(&format!("\n### `{program}`\n")).expect(program);
        let section = section.split("\n#").next().unwrap_or_default();
        assert_eq!(documented(section), shown(&help(command)), "the settings of {program}");
    }
}

#[test]
fn the_commands_of_the_relay_have_the_flags_that_the_contract_says() {
    let contract = read(&root().join("docs/contract.md"));
    let (_, section) = contract.split_once("\n### The relay's commands\n").expect("the commands");
    let section = section.split("\n#").next().unwrap_or_default();
    for command in ["dead list", "dead show", "dead retry", "dead discard", "stats", "cleanup"] {
        // The line above the table says these of all commands, or of all but one.
        let mut said = BTreeSet::from([
            "--database-url",
            "--database-password-file",
            "--database-connections",
        ]);
        said.extend((command != "cleanup").then_some("--json"));
        let row = format!("| `outbox-relay {command}");
        for line in section.lines().filter(|line| line.starts_with(&row)) {
            let words =
                line.split(|letter: char| letter.is_whitespace() || "`,;|".contains(letter));
            said.extend(words.filter(|word| word.starts_with("--")));
        }
        let help = help(&[&["outbox-relay"][..], &command.split(' ').collect::<Vec<_>>()].concat());
        let shown = shown(&help);
        let shown: BTreeSet<_> = shown.iter().map(|[_, flag, _, _]| flag.as_str()).collect();
        assert_eq!(said, shown, "the flags of {command}");
    }
}

fn help(command: &[&str]) -> String {
    let output = Command::new(shop_binary()).args(command).arg("--help").env_clear().output();
    String::from_utf8(output.expect("the shop's binary starts").stdout).expect("UTF-8")
}

/// The rows of the first table.
fn documented(section: &str) -> Vec<Setting> {
    let rows = section.lines().skip_while(|line| !line.starts_with("| ---")).skip(1);
    rows.take_while(|line| line.starts_with('|')).map(row).collect()
}

fn row(line: &str) -> Setting {
    let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
    let cells = cells.into_iter().map(|cell| cell.trim_matches('`').to_owned());
    cells.collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("not four cells: {line}"))
}

/// The options of a help text, without `--help` and `--version`.
fn shown(help: &str) -> Vec<Setting> {
    let (usage, options) = help.split_once("\nOptions:\n").expect("options");
    let usage = usage.lines().find(|line| line.starts_with("Usage:")).unwrap_or_default();
    let mut found: Vec<(String, String)> = vec![];
    for line in options.lines() {
        match (line.trim_start().starts_with('-'), found.last_mut()) {
            // An option begins; its text may begin on the same line, two spaces behind it.
            (true, _) => {
                let (option, text) = line.trim().split_once("  ").unwrap_or((line.trim(), ""));
                found.push((option.to_owned(), text.to_owned()));
            }
            (false, Some((_, text))) => *text = format!("{text} {}", line.trim()),
            (false, None) => {}
        }
    }
    let own = found.into_iter().filter(|(option, _)| option.starts_with("--"));
    own.map(|(option, text)| {
        let flag = option.split(' ').next().unwrap_or_default();
        let (words, env) = cut(&text, "env");
        let (words, default) = cut(&words, "default");
        let (words, _) = cut(&words, "possible values");
        let env = env.map(|env| env.trim_end_matches('=').to_owned());
        let otherwise = if usage.contains(&format!(" {flag} <")) { "required" } else { "none" };
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        [
            env.unwrap_or_else(|| "none".to_owned()),
            flag.to_owned(),
            default.unwrap_or_else(|| otherwise.to_owned()),
            words,
        ]
    })
    .collect()
}

/// Takes `[name: value]` out of a text.
fn cut(text: &str, name: &str) -> (String, Option<String>) {
    let Some((before, rest)) = text.split_once(&format!("[{name}: ")) else {
        return (text.to_owned(), None);
    };
    let (value, after) = rest.split_once(']').expect("an end");
    (format!("{before}{after}"), Some(value.to_owned()))
}

#[test]
fn every_file_that_the_documents_name_is_there_with_the_names_they_say_it_holds() {
    let mut files = vec![];
    for folder in ["services", "shared", "migrations", "e2e"] {
        collect(&root().join(folder), &mut files);
    }
    let mut documents = vec![root().join("README.md")];
    let folder = std::fs::read_dir(root().join("docs")).expect("docs");
    documents.extend(folder.map(|entry| entry.expect("a file").path()));
    documents.retain(|path| path.extension().is_some_and(|extension| extension == "md"));

    let (mut named, mut wrong) = (0, vec![]);
    for document in documents {
        for line in read(&document).lines() {
            for (file, names) in mentions(line) {
                named += 1;
                if !holds(&files, file, &names) {
                    wrong.push(format!("{}: {file} {names:?}", document.display()));
                }
            }
        }
    }
    assert!(named > 50, "only {named} files are named: they are not found any more");
    assert!(wrong.is_empty(), "not there:\n{}", wrong.join("\n"));
}

/// The source files that a line names in code, each with the names that follow it directly:
/// `file.rs`, `name` and `name`.
fn mentions(line: &str) -> Vec<(&str, Vec<&str>)> {
    let parts: Vec<_> = line.split('`').collect();
    let mut found: Vec<(&str, Vec<&str>)> = vec![];
    let mut open = false;
    for (between, code) in parts.iter().zip(parts.iter().skip(1)).step_by(2) {
        let file = code.strip_suffix(".rs").is_some_and(|stem| !stem.contains(' '));
        if file {
            found.push((code, vec![]));
            open = true;
        } else if open && [", ", " and "].contains(between) && is_name(code) {
            found.last_mut().expect("a file").1.push(code);
        } else {
            open = false;
        }
    }
    // The links of Markdown have a path of their own.
    let links = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    found.extend(links.filter(|link| link.ends_with(".rs")).map(|link| (link, vec![])));
    found
}

fn is_name(code: &str) -> bool {
    code.chars().all(|letter| letter.is_alphanumeric() || letter == '_' || letter == ':')
}

/// One of the files of that name holds all of these. Documents leave the first folders out.
fn holds(files: &[PathBuf], file: &str, names: &[&str]) -> bool {
    let candidates = files.iter().filter(|path| path.ends_with(file));
    candidates.into_iter().any(|path| {
        let source = read(path);
        names.iter().all(|name| {
            let last = name.rsplit("::").next().unwrap_or(name);
            let defined = |kind| source.contains(&format!("{kind} {last}"));
            ["fn", "struct", "enum", "trait", "const"].into_iter().any(defined)
        })
    })
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => collect(&path, files),
            false if path.extension().is_some_and(|extension| extension == "rs") => {
                files.push(path);
            }
            false => {}
        }
    }
}
