use serde::{Deserialize, Serialize};
use strict_json::Object;

use crate::{InvalidQuantity, Quantity, Sku};

/// One line of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// What.
    pub sku: Sku,
    /// How many.
    pub quantity: Quantity,
}

/// The lines of an order: 1 to 100, each SKU once. Repeated SKUs are added up when it is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Object<Line>>", into = "Vec<Line>")]
pub struct Lines(Vec<Line>);

/// The lines are no order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLines {
    /// None, or too many.
    #[error("expected 1 to {} lines", Lines::MAX)]
    Count,
    /// The sum of one SKU.
    #[error(transparent)]
    Quantity(#[from] InvalidQuantity),
}

impl Lines {
    /// Lines of one order at most, counted before repeated SKUs are added up.
    pub const MAX: usize = 100;

    /// The lines in the order in which their SKUs first appeared.
    #[must_use]
    pub fn as_slice(&self) -> &[Line] {
        &self.0
    }

    /// The lines sorted by SKU: the one order in which stock rows are locked, so that two orders
    /// for the same SKUs never wait for each other in a circle.
    #[must_use]
    pub fn in_locking_order(&self) -> Vec<Line> {
        let mut lines = self.0.clone();
        lines.sort_unstable_by(|a, b| a.sku.cmp(&b.sku));
        lines
    }
}

impl TryFrom<Vec<Line>> for Lines {
    type Error = InvalidLines;

    fn try_from(lines: Vec<Line>) -> Result<Self, Self::Error> {
        if !(1..=Self::MAX).contains(&lines.len()) {
            return Err(InvalidLines::Count);
        }
        let mut merged: Vec<Line> = Vec::with_capacity(lines.len());
        for line in lines {
            match merged.iter_mut().find(|known| known.sku == line.sku) {
                Some(known) => known.quantity = known.quantity.plus(line.quantity)?,
                None => merged.push(line),
            }
        }
        Ok(Self(merged))
    }
}

impl TryFrom<Vec<Object<Line>>> for Lines {
    type Error = InvalidLines;

    fn try_from(lines: Vec<Object<Line>>) -> Result<Self, Self::Error> {
        lines.into_iter().map(|line| line.0).collect::<Vec<_>>().try_into()
    }
}

impl From<Lines> for Vec<Line> {
    fn from(lines: Lines) -> Self {
        lines.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(json: &str) -> Result<Lines, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn a_repeated_sku_becomes_one_line_at_its_first_place() {
        let merged = lines(
            r#"[{"sku":"B","quantity":1},{"sku":"A","quantity":2},{"sku":"B","quantity":10000}]"#,
        );
        assert_eq!(
            serde_json::to_string(&merged.expect("valid")).expect("json"),
            r#"[{"sku":"B","quantity":10001},{"sku":"A","quantity":2}]"#
        );
    }

    #[test]
    fn an_order_has_1_to_100_lines_of_positive_whole_quantities() {
        let line = r#"{"sku":"A","quantity":1}"#;
        assert!(lines(&format!("[{}]", [line; 100].join(","))).is_ok());
        assert!(lines(&format!("[{}]", [line; 101].join(","))).is_err());
        assert!(lines("[]").is_err());
        for bad in
            ["0", "-1", "1.0", "1e2", "\"5\"", "true", "null", "1000001", "99999999999999999999"]
        {
            let json = format!(r#"[{{"sku":"A","quantity":{bad}}}]"#);
            assert!(lines(&json).is_err(), "{bad}");
        }
    }
}
