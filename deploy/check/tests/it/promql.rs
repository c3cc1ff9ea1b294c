//! As much of PromQL as it takes to find the metrics in an expression.

/// The names of metrics in a PromQL expression: what is neither a function, nor a label, nor a word of the language.
pub(crate) fn metrics(expression: &str) -> Vec<String> {
    let mut outside = String::new();
    let (mut depth, mut grouping) = (0, false);
    for (index, letter) in expression.char_indices() {
        match letter {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            // `by (job)`, `without (job)`: labels.
            '(' if is_grouping(&expression[..index]) => grouping = true,
            ')' if grouping => grouping = false,
            _ if depth == 0 && !grouping => outside.push(letter),
            _ => {}
        }
    }
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == ':';
    let mut names = vec![];
    let mut rest = outside.as_str();
    while let Some(start) = rest.find(is_name) {
        let word = &rest[start..];
        let end = word.find(|letter| !is_name(letter)).unwrap_or(word.len());
        let (word, after) = word.split_at(end);
        let function = after.trim_start().starts_with('(');
        let language = ["by", "without", "sum", "max", "min", "avg"].contains(&word);
        if !function && !language && !word.starts_with(|letter: char| letter.is_ascii_digit()) {
            names.push(word.to_owned());
        }
        rest = after;
    }
    names
}

fn is_grouping(before: &str) -> bool {
    let before = before.trim_end();
    before.ends_with(" by") || before.ends_with(" without")
}

#[test]
fn metrics_of_an_expression_are_told_from_functions_and_labels() {
    let expression =
        "sum by (job, le) (rate(a_total{job=~\"b|c\"}[$__rate_interval])) / max(d:e) * 2";
    assert_eq!(metrics(expression), ["a_total", "d:e"]);
}
