//! What a person says with an administrative call or command, parsed at the edge.

use std::str::FromStr;

use axum::http::HeaderMap;
use chrono::{DateTime, Datelike, Utc};
use serde::{Deserialize, Serialize};

use crate::Problem;

/// Who acts when nobody says.
const DEFAULT_ACTOR: &str = "admin";

/// The text can't be used; the message says what is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected {0}")]
pub struct InvalidText(&'static str);

/// Who acts, as they name themselves: 1 to 64 visible characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor(String);

impl Actor {
    /// From the header `X-Actor`; without one it is `admin`.
    ///
    /// # Errors
    /// 400 when the header can't be used.
    pub fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let Some(value) = headers.get("x-actor") else {
            return Ok(Self(DEFAULT_ACTOR.to_owned()));
        };
        let text = std::str::from_utf8(value.as_bytes()).unwrap_or_default();
        text.parse().map_err(|error| Problem::bad_request(format!("X-Actor: {error}")))
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Actor {
    type Err = InvalidText;

    fn from_str(text: &str) -> Result<Self, InvalidText> {
        let visible = |letter: char| !letter.is_control() && !letter.is_whitespace();
        match (1..=64).contains(&text.chars().count()) && text.chars().all(visible) {
            true => Ok(Self(text.to_owned())),
            false => Err(InvalidText("1 to 64 visible characters, no white space")),
        }
    }
}

/// Why somebody acts: 1 to 500 characters, no control characters, not only white space.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Why(String);

impl Why {
    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Why {
    type Err = InvalidText;

    fn from_str(text: &str) -> Result<Self, InvalidText> {
        let short = (1..=500).contains(&text.chars().count()) && !text.trim().is_empty();
        match short && !text.chars().any(char::is_control) {
            true => Ok(Self(text.to_owned())),
            false => Err(InvalidText("1 to 500 characters, no control characters")),
        }
    }
}

impl TryFrom<String> for Why {
    type Error = InvalidText;

    fn try_from(text: String) -> Result<Self, InvalidText> {
        text.parse()
    }
}

impl From<Why> for String {
    fn from(why: Why) -> Self {
        why.0
    }
}

/// A time that something was before, as RFC 3339, in the years that every database knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String")]
pub struct Before(pub DateTime<Utc>);

impl FromStr for Before {
    type Err = InvalidText;

    fn from_str(text: &str) -> Result<Self, InvalidText> {
        DateTime::parse_from_rfc3339(text)
            .map(|time| time.with_timezone(&Utc))
            .ok()
            .filter(|time| (1970..=9999).contains(&time.year()))
            .map(Self)
            .ok_or(InvalidText("a time such as 2026-11-30T18:00:00Z"))
    }
}

impl TryFrom<String> for Before {
    type Error = InvalidText;

    fn try_from(text: String) -> Result<Self, InvalidText> {
        text.parse()
    }
}

/// The body of a discard.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiscardBody {
    /// Why. A discard is for good: it needs a reason.
    pub reason: Why,
}

/// The body of a retry, which may be left out.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetryBody {
    /// Whatever its age.
    pub force: bool,
    /// Why.
    pub reason: Option<Why>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_say_is_short_and_holds_no_control_characters() {
        assert!("Jürgen".parse::<Actor>().is_ok());
        for bad in ["", "two words", "a\0b", "a\u{85}b", &"x".repeat(65)] {
            assert!(bad.parse::<Actor>().is_err(), "{bad:?}");
        }
        assert!("made by mistake".parse::<Why>().is_ok());
        for bad in ["", "  ", "a\0b", "two\nlines", &"x".repeat(501)] {
            assert!(bad.parse::<Why>().is_err(), "{bad:?}");
        }
        assert!("2026-11-30T18:00:00+01:00".parse::<Before>().is_ok());
        for bad in ["", "yesterday", "2026-11-30", "+12026-11-30T18:00:00Z", "1969-12-31T23:59:59Z"]
        {
            assert!(bad.parse::<Before>().is_err(), "{bad:?}");
        }
    }
}
