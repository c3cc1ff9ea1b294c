use std::path::Path;

use super::{EDITIONS, files, markdown};

/// The headings of a chapter, in their order, by language.
const PARTS: [(&str, [&str; 7]); 2] = [
    (
        "en",
        [
            "## Predict, then run",
            "## The rows",
            "## Why",
            "## The code",
            "## On the compose stack",
            "## Exercise",
            "### Check",
        ],
    ),
    (
        "fa",
        [
            "## اول پیش‌بینی، بعد اجرا",
            "## ردیف‌ها",
            "## چرا",
            "## کد",
            "## تکرار با Docker Compose",
            "## تمرین",
            "### بررسی پاسخ",
        ],
    ),
];

/// Each chapter of each language: where it is, and its Markdown.
fn chapters() -> impl Iterator<Item = (String, &'static str)> {
    EDITIONS.iter().flat_map(|edition| {
        edition
            .chapters
            .iter()
            .map(|(slug, source)| (format!("{}/{slug}", edition.language), *source))
    })
}

/// The contents of the fenced blocks of a kind.
fn blocks<'a>(source: &'a str, kind: &str) -> Vec<&'a str> {
    let opening = format!("\n```{kind}\n");
    source.split(opening.as_str()).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

/// A chapter without its fenced blocks and without code in its lines.
fn prose(source: &str) -> String {
    let outside = source.split("```").step_by(2).collect::<String>();
    let outside = outside.split('`').step_by(2).collect::<String>();
    let mut prose = String::new();
    for (n, part) in outside.split("](").enumerate() {
        let after_link =
            if n == 0 { Some(part) } else { part.split_once(')').map(|(_, rest)| rest) };
        prose.push_str(after_link.unwrap_or_default());
    }
    prose
}

#[test]
fn every_chapter_has_a_title_a_question_and_all_its_parts_in_their_order() {
    for edition in &EDITIONS {
        let (_, parts) =
            PARTS.iter().find(|(language, _)| *language == edition.language).expect("parts");
        for (slug, source) in edition.chapters {
            assert!(!markdown::title(source).is_empty(), "{slug}: title");
            assert!(!markdown::question(source).is_empty(), "{slug}: question");
            let headings: Vec<_> = prose(source)
                .lines()
                .filter(|line| line.starts_with("##"))
                .map(str::to_owned)
                .collect();
            assert_eq!(headings, parts, "{}/{slug}", edition.language);
        }
    }
}

#[test]
fn every_experiment_follows_its_own_prediction() {
    for (chapter, source) in chapters() {
        let kinds: Vec<_> = source
            .lines()
            .filter_map(|line| line.strip_prefix("```"))
            .filter(|kind| matches!(*kind, "predict" | "experiment"))
            .collect();
        assert!(kinds.len() >= 4, "{chapter}: at least two experiments");
        assert!(
            kinds.chunks(2).all(|pair| pair == ["predict", "experiment"]),
            "{chapter}: {kinds:?}"
        );
        for block in blocks(source, "predict") {
            let keys: Vec<_> = markdown::settings(block).iter().map(|(key, _)| *key).collect();
            assert!(
                keys == ["question", "options"] || keys == ["question", "options", "of"],
                "{chapter}: {block}"
            );
        }
    }
}

#[test]
fn both_languages_have_the_same_experiments_in_the_same_order() {
    let [english, persian] = EDITIONS
        .map(|edition| edition.chapters.map(|(slug, source)| (slug, blocks(source, "experiment"))));
    assert_eq!(english, persian);
}

#[test]
#[cfg(feature = "lab")]
fn every_experiment_is_a_cell_of_the_matrix_in_which_its_failure_happens() {
    let catalogue = ::lab::Catalogue::get();
    for (chapter, source) in chapters() {
        for block in blocks(source, "experiment") {
            let [("mistakes", mistakes), ("failure", failure)] = markdown::settings(block)[..]
            else {
                panic!("{chapter}: {block}");
            };
            let row = if mistakes == "none" { "all" } else { &mistakes.replace(", ", ",") };
            let verdict = catalogue.expected.get(row).and_then(|row| row.get(failure));
            let happens = verdict.is_some_and(|verdict| *verdict != ::lab::Verdict::Void);
            assert!(happens, "{chapter}: {row} × {failure}: {verdict:?}");
        }
    }
}

/// The paths and functions of a chapter's links to code.
fn links_to_code(source: &str) -> Vec<(&str, &str)> {
    let targets = source.split("](../../../").skip(1).filter_map(|link| link.split(')').next());
    targets
        .map(|target| target.split_once(' ').expect(target))
        .map(|(path, function)| (path, function.trim_matches('"')))
        .collect()
}

#[test]
fn every_link_to_code_names_a_file_that_is_there_and_a_function_in_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (chapter, source) in chapters() {
        let links = links_to_code(source);
        assert!(!links.is_empty(), "{chapter}: no link to code");
        for (path, function) in links {
            let text = std::fs::read_to_string(root.join(path)).expect(path);
            let function = format!("fn {function}");
            let mut places = text.split(function.as_str()).skip(1);
            let found = places.any(|rest| rest.starts_with(['(', '<']));
            assert!(found, "{chapter}: no `{function}` in {path}");
        }
    }
}

#[test]
#[cfg(feature = "lab")]
fn every_link_to_code_can_be_opened_on_the_page() {
    for (chapter, source) in chapters() {
        for (path, _) in links_to_code(source) {
            assert!(crate::lab::sources::source(path).is_some(), "{chapter}: {path}");
        }
    }
}

#[test]
fn persian_prose_has_persian_digits_and_letters() {
    for (chapter, source) in chapters().filter(|(chapter, _)| chapter.starts_with("fa/")) {
        let prose = prose(source);
        for line in prose.lines() {
            let foreign = |c: char| {
                c.is_ascii_digit() || matches!(c, 'ي' | 'ك' | '٠'..='٩' | '?' | ';' | ',')
            };
            assert!(!line.contains(foreign), "{chapter}: {line}");
        }
        for block in blocks(source, "predict") {
            let question = markdown::settings(block)[0].1;
            assert!(!question.contains(['ي', 'ك', '?']), "{chapter}: {question}");
        }
    }
}

#[test]
fn raw_html_is_dropped_and_markup_in_text_stays_text() {
    let html = markdown::to_html(
        "a <b onclick='x'>bold</b>\n\n<script>alert(1)</script>\n\n`<i>`\n\n\
         ```experiment\nmistakes: \"><script>\nfailure: none\n```\n",
    );
    assert!(!html.contains("<b") && !html.contains("<script"), "{html}");
    assert!(html.contains("<code>&lt;i&gt;</code>"), "{html}");
    assert!(html.contains("data-mistakes=\"&quot;&gt;&lt;script&gt;\""), "{html}");
}

#[test]
fn what_the_page_fills_with_life_can_be_found_in_the_fragment() {
    let html = markdown::to_html(
        "[`a.rs`](../../../shared/a.rs \"f\")\n\n```predict\nquestion: How many?\noptions: 0, 1\n```\n\n\
         ```experiment\nmistakes: none\nfailure: poison\n```\n\n```rust\nlet x;\n```\n",
    );
    for element in [
        r#"<code data-source="shared/a.rs" data-function="f">a.rs</code>"#,
        r#"<div class="predict" data-question="How many?" data-options="0, 1"></div>"#,
        r#"<div class="experiment" data-mistakes="none" data-failure="poison"></div>"#,
        r#"<pre><code class="language-rust">"#,
    ] {
        assert!(html.contains(element), "{element} in {html}");
    }
}

#[test]
fn the_list_of_a_language_names_its_chapters_with_title_and_question() {
    let files = files();
    assert_eq!(files.len(), 2 * 8);
    let list = files.iter().find(|file| file.path == "guide/en/index.json").expect("the list");
    let list: serde_json::Value = serde_json::from_str(&list.text).expect("JSON");
    assert_eq!(list[0]["n"], 1);
    assert_eq!(list[0]["slug"], "dual-write");
    assert_eq!(list[0]["title"], "Dual write");
    assert!(list[0]["question"].as_str().is_some_and(|question| question.contains('?')));
    assert!(files.iter().any(|file| file.path == "guide/fa/7.html"));
}
