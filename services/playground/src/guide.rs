//! The guide's chapters: Markdown in `docs/guide`, made into fragments that the page inserts.

mod markdown;
#[cfg(test)]
mod tests;

use serde::Serialize;

/// A file of the page, by its path relative to it.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) media_type: &'static str,
    pub(crate) text: String,
}

struct Edition {
    language: &'static str,
    /// In their order, with the name that is the same in each language.
    chapters: [(&'static str, &'static str); 7],
}

/// The chapters of a language, by their files under `docs/guide`.
macro_rules! edition {
    ($language:literal, $($number:literal $slug:literal),+) => {
        Edition {
            language: $language,
            chapters: [$((
                $slug,
                include_str!(concat!("../../../docs/guide/", $language, "/", $number, "-", $slug, ".md")),
            )),+],
        }
    };
}

macro_rules! editions {
    ($($language:literal),+) => {
        [$(edition!(
            $language, "1" "dual-write", "2" "outbox", "3" "marking-sent", "4" "twice",
            "5" "inbox-row", "6" "order", "7" "edges"
        )),+]
    };
}

const EDITIONS: [Edition; 2] = editions!["en", "fa"];

/// An entry of the list of chapters.
#[derive(Serialize)]
struct Entry {
    n: usize,
    slug: &'static str,
    title: String,
    question: String,
}

/// All chapters and lists of chapters.
pub(crate) fn files() -> Vec<File> {
    EDITIONS.iter().flat_map(Edition::files).collect()
}

impl Edition {
    fn files(&self) -> Vec<File> {
        let language = self.language;
        let mut files = vec![File {
            path: format!("guide/{language}/index.json"),
            media_type: "application/json",
            text: serde_json::json!(self.entries()).to_string(),
        }];
        files.extend((1..).zip(self.chapters).map(|(n, (_, source))| File {
            path: format!("guide/{language}/{n}.html"),
            media_type: "text/html; charset=utf-8",
            text: markdown::to_html(source),
        }));
        files
    }

    fn entries(&self) -> Vec<Entry> {
        let entry = |(n, (slug, source)): (usize, (&'static str, &str))| Entry {
            n,
            slug,
            title: markdown::title(source),
            question: markdown::question(source),
        };
        (1..).zip(self.chapters).map(entry).collect()
    }
}
