//! Markdown to a fragment of HTML. Raw HTML is dropped, and what the page fills with life (predictions,
//! experiments, links to source files) becomes elements that it can find.

use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// Chapters lie so deep in the repository: their links to source files begin with it.
const TO_ROOT: &str = "../../../";

pub(super) fn to_html(source: &str) -> String {
    let mut text = String::with_capacity(2 * source.len());
    html::push_html(&mut text, events(source).into_iter());
    text
}

/// The first heading, without the chapter's number.
pub(super) fn title(source: &str) -> String {
    let heading = source.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default();
    let (_number, title) = heading.split_once(". ").unwrap_or(("", heading));
    title.to_owned()
}

/// The chapter's question: its first quotation.
pub(super) fn question(source: &str) -> String {
    source.lines().find_map(|line| line.strip_prefix("> ")).unwrap_or_default().to_owned()
}

/// The lines `key: value` of a block.
pub(super) fn settings(block: &str) -> Vec<(&str, &str)> {
    block.lines().filter_map(|line| line.split_once(": ")).collect()
}

fn events(source: &str) -> Vec<Event<'_>> {
    let mut events = vec![];
    let mut parser = Parser::new_ext(source, Options::ENABLE_TABLES);
    while let Some(event) = parser.next() {
        match event {
            Event::Html(_) | Event::InlineHtml(_) => {}
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language)))
                if matches!(&*language, "predict" | "experiment") =>
            {
                let block = text_of(&mut parser, TagEnd::CodeBlock);
                events.push(Event::Html(element(&language, &block).into()));
            }
            Event::Start(Tag::Link { dest_url, title, .. }) if dest_url.starts_with(TO_ROOT) => {
                let text = text_of(&mut parser, TagEnd::Link);
                events.push(Event::Html(source_file(&dest_url, &title, &text).into()));
            }
            other => events.push(other),
        }
    }
    events
}

/// Everything up to the end of the element in hand, as plain text.
fn text_of<'a>(parser: &mut impl Iterator<Item = Event<'a>>, end: TagEnd) -> String {
    let inside = parser.take_while(|event| *event != Event::End(end));
    let text = inside.filter_map(|event| match event {
        Event::Text(text) | Event::Code(text) => Some(text),
        _ => None,
    });
    text.collect::<Vec<CowStr<'_>>>().concat()
}

/// `<div class="experiment" data-mistakes="…" data-failure="…"></div>`
fn element(class: &str, block: &str) -> String {
    let data = settings(block).into_iter();
    let data: String =
        data.map(|(key, value)| format!(" data-{}=\"{}\"", escape(key), escape(value))).collect();
    format!("<div class=\"{}\"{data}></div>\n", escape(class))
}

/// The title of such a link is the function that it is about.
fn source_file(url: &str, function: &str, text: &str) -> String {
    let path = url.trim_start_matches(TO_ROOT);
    format!(
        "<code data-source=\"{}\" data-function=\"{}\">{}</code>",
        escape(path),
        escape(function),
        escape(text)
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
