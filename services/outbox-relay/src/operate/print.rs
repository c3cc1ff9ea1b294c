//! Answers: columns for people, JSON for programs.

use outbox::dead_letters::{Details, Entry, Retried, Stats};
use serde::Serialize;
use serde_json::{Value, json};
use service_kit::list::Page;
use service_kit::program;

/// Prints a text, or JSON in its place.
pub(super) fn line(text: &str, value: &impl Serialize, as_json: bool) -> anyhow::Result<()> {
    match as_json {
        true => program::print(&serde_json::to_string(value)?),
        false => program::print(text.trim_end()),
    }
}

pub(super) fn list(found: Vec<Entry>, limit: u64, as_json: bool) -> anyhow::Result<()> {
    let page = Page::new(found, limit, |entry: &Entry| entry.cursor.to_string());
    let mut rows = vec![
        ["MESSAGE", "TYPE", "AGGREGATE", "STATE", "TRIES", "WRITTEN", "LAST ERROR"]
            .map(str::to_owned),
    ];
    rows.extend(page.items.iter().map(row));
    let mut text = match page.items.is_empty() {
        true => "none".to_owned(),
        false => columns(&rows),
    };
    if let Some(cursor) = &page.next_cursor {
        text = format!("{}\nmore: --cursor {cursor}", text.trim_end());
    }
    line(&text, &page, as_json)
}

fn row(entry: &Entry) -> [String; 7] {
    [
        entry.message_id.to_string(),
        entry.kind.clone(),
        format!("{} {} v{}", entry.aggregate_type, entry.aggregate_id, entry.aggregate_version),
        entry.state.to_string(),
        entry.retry_count.to_string(),
        entry.occurred_on.map_or_else(
            || "?".to_owned(),
            |written| written.format("%Y-%m-%d %H:%M:%SZ").to_string(),
        ),
        entry.last_error.clone().unwrap_or_default(),
    ]
    .map(|cell| printable(&cell))
}

pub(super) fn details(details: &Details, as_json: bool) -> anyhow::Result<()> {
    let Value::Object(fields) = serde_json::to_value(details)? else {
        anyhow::bail!("a message has no fields");
    };
    let shown = |value: &Value| match value {
        Value::String(text) => printable(text),
        other => printable(&other.to_string()),
    };
    let of_people = |name: &&String| !["actions", "payload", "claim"].contains(&name.as_str());
    let mut rows: Vec<[String; 2]> = fields
        .iter()
        .filter(|(name, value)| of_people(name) && !value.is_null())
        .map(|(name, value)| [name.clone(), shown(value)])
        .collect();
    if let Some(claim) = &details.claim {
        rows.push(["claim".to_owned(), printable(&format!("{} until {}", claim.by, claim.until))]);
    }
    rows.extend(details.actions.iter().map(|done| {
        let (reason, error) = (done.reason.as_deref(), done.last_error.as_deref());
        let text = format!(
            "{} by {} at {}: {}; it said: {}",
            done.action,
            done.actor,
            done.at,
            reason.unwrap_or("no reason given"),
            error.unwrap_or("nothing")
        );
        ["action".to_owned(), printable(&text)]
    }));
    line(&columns(&rows), details, as_json)
}

pub(super) fn retried(retried: Retried, dry_run: bool, as_json: bool) -> anyhow::Result<()> {
    let verb = if dry_run { "would be retried" } else { "retried" };
    let mut text = format!("{} {verb}", retried.count);
    if retried.too_old > 0 {
        text += &format!("; {} older than the inbox retention (--force)", retried.too_old);
    }
    let value = json!({"dryRun": dry_run, "count": retried.count, "tooOld": retried.too_old});
    line(&text, &value, as_json)
}

pub(super) fn stats(stats: &Stats, as_json: bool) -> anyhow::Result<()> {
    let oldest = stats.oldest_pending_age_ms.map_or("none".to_owned(), |age| format!("{age} ms"));
    let about = if stats.sent_is_estimate { "about " } else { "" };
    let rows = [
        ("pending", stats.pending.to_string()),
        ("  claimed", stats.claimed.to_string()),
        ("  failing", stats.failing.to_string()),
        ("  oldest", oldest),
        ("sent", format!("{about}{}", stats.sent)),
        ("dead", stats.dead.to_string()),
        ("  blocked messages", stats.blocked_messages.to_string()),
        ("  blocked aggregates", stats.blocked_aggregates.to_string()),
        ("discarded", stats.discarded.to_string()),
    ];
    line(&columns(&rows.map(|(name, value)| [name.to_owned(), value])), stats, as_json)
}

/// Pads each column to its widest cell; the last one ends where it ends.
fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<_> = (0..N).map(|column| width(column).unwrap_or_default()).collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// What a stranger wrote must not steer the terminal.
fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::{columns, printable};

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_no_control_character_passes() {
        let rows = [["a", "b"], ["äöü", "c"]].map(|row| row.map(str::to_owned));
        assert_eq!(columns(&rows), "a    b\näöü  c");
        assert_eq!(printable("a\u{1b}[31m\n"), "a\u{fffd}[31m\u{fffd}");
    }
}
