use std::fmt;
use std::str::FromStr;

use sea_orm::{ConnectionTrait, DbErr};

use crate::Dialect;

/// A part of every day, in UTC by the database's clock: when work that can wait may be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DayWindow {
    /// At any time.
    #[default]
    Always,
    /// From one minute of the day up to another, which may be over midnight.
    Between(Minute, Minute),
}

/// A minute of the day, `00:00` to `23:59`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Minute(u16);

/// The text is no [`DayWindow`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected always, or two different times of day in UTC such as 02:00-05:00")]
pub struct InvalidDayWindow;

impl DayWindow {
    /// Whether the window is open now. It is the database's now: several processes, one clock.
    ///
    /// # Errors
    /// Whatever the database answers.
    pub async fn is_open<C: ConnectionTrait>(self, connection: &C) -> Result<bool, DbErr> {
        if self == Self::Always {
            return Ok(true);
        }
        let dialect = Dialect::of(connection);
        let sql = format!("SELECT {} AS minute", dialect.minute_of_day());
        let row = connection.query_one_raw(dialect.statement(sql, [])).await?;
        let minute: i64 = match row {
            Some(row) => row.try_get("", "minute")?,
            None => return Err(DbErr::RecordNotFound("the time of day".to_owned())),
        };
        Ok(u16::try_from(minute).is_ok_and(|minute| self.contains(Minute(minute))))
    }

    fn contains(self, minute: Minute) -> bool {
        match self {
            Self::Always => true,
            Self::Between(from, to) if from < to => (from..to).contains(&minute),
            Self::Between(from, to) => minute >= from || minute < to,
        }
    }
}

impl FromStr for DayWindow {
    type Err = InvalidDayWindow;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "always" {
            return Ok(Self::Always);
        }
        let (from, to) = text.split_once('-').ok_or(InvalidDayWindow)?;
        let (from, to) = (minute(from)?, minute(to)?);
        // The same time twice may mean all day or never: too far apart to be guessed.
        if from == to { Err(InvalidDayWindow) } else { Ok(Self::Between(from, to)) }
    }
}

fn minute(text: &str) -> Result<Minute, InvalidDayWindow> {
    let digits = |text: &str| match text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit()) {
        true => text.parse::<u16>().map_err(|_| InvalidDayWindow),
        false => Err(InvalidDayWindow),
    };
    let (hours, minutes) = text.split_once(':').ok_or(InvalidDayWindow)?;
    match (digits(hours)?, digits(minutes)?) {
        (hours @ ..24, minutes @ ..60) => Ok(Minute(hours * 60 + minutes)),
        _ => Err(InvalidDayWindow),
    }
}

impl fmt::Display for DayWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Always => f.write_str("always"),
            Self::Between(from, to) => write!(f, "{from}-{to}"),
        }
    }
}

impl fmt::Display for Minute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_at(window: &str, time: &str) -> bool {
        let window: DayWindow = window.parse().expect("a window");
        window.contains(minute(time).expect("a time"))
    }

    #[test]
    fn a_window_is_open_from_its_first_minute_up_to_its_last() {
        for (time, open) in
            [("00:00", false), ("01:59", false), ("02:00", true), ("04:59", true), ("05:00", false)]
        {
            assert_eq!(open_at("02:00-05:00", time), open, "{time}");
            assert!(open_at("always", time));
        }
    }

    #[test]
    fn a_window_may_be_over_midnight() {
        for (time, open) in [
            ("22:29", false),
            ("22:30", true),
            ("23:59", true),
            ("00:00", true),
            ("00:59", true),
            ("01:00", false),
            ("12:00", false),
        ] {
            assert_eq!(open_at("22:30-01:00", time), open, "{time}");
        }
    }

    #[test]
    fn what_is_no_window_is_refused() {
        for text in [
            "",
            "never",
            "Always",
            "02:00",
            "02:00-",
            "2:00-5:00",
            "02:00-24:00",
            "02:60-05:00",
            "02:00 - 05:00",
            "+2:00-05:00",
            "02:00-02:00",
            "02:00-05:00-06:00",
            "02.00-05.00",
        ] {
            assert_eq!(text.parse::<DayWindow>(), Err(InvalidDayWindow), "{text:?}");
        }
    }

    #[test]
    fn a_window_is_shown_as_it_was_written() {
        for text in ["always", "02:00-05:00", "22:30-01:00"] {
            assert_eq!(text.parse::<DayWindow>().expect("a window").to_string(), text);
        }
    }
}
