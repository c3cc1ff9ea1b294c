//! Lists: `{"items": […], "nextCursor": …}`, by keyset.

use std::collections::HashMap;
use std::str::FromStr;

use serde::Serialize;

use crate::Problem;

const DEFAULT_LIMIT: u64 = 50;
const MAX_LIMIT: u64 = 200;

/// One page of a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    /// The items, in the list's order.
    pub items: Vec<T>,
    /// Give it as `cursor` to get what follows; null: nothing does.
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// Makes a page from `limit + 1` items, of which the last only proves that there are more.
    pub fn new(mut items: Vec<T>, limit: u64, cursor_of: impl Fn(&T) -> String) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = items.len() > limit;
        items.truncate(limit);
        let next_cursor = items.last().filter(|_| more).map(cursor_of);
        Self { items, next_cursor }
    }
}

/// The query parameters of a request. Unknown ones are ignored.
#[derive(Debug)]
pub struct Parameters(pub HashMap<String, String>);

impl Parameters {
    /// `limit`, 1 to 200.
    ///
    /// # Errors
    /// 400 when it is anything else.
    pub fn limit(&self) -> Result<u64, Problem> {
        match self.parse::<u64>("limit", "a whole number from 1 to 200")? {
            None => Ok(DEFAULT_LIMIT),
            Some(limit) if (1..=MAX_LIMIT).contains(&limit) => Ok(limit),
            Some(_) => Err(Problem::bad_request("limit: expected a whole number from 1 to 200")),
        }
    }

    /// The parameter `name` as a `T`, if it is there.
    ///
    /// # Errors
    /// 400 when it is there and no `T`.
    pub fn parse<T: FromStr>(&self, name: &str, expected: &str) -> Result<Option<T>, Problem> {
        self.0
            .get(name)
            .map(|text| text.parse())
            .transpose()
            .map_err(|_| Problem::bad_request(format!("{name}: expected {expected}")))
    }
}
