use std::str::FromStr;
use std::time::Duration;

use rand::RngExt;

/// No delay between two tries is longer than this.
const MAX_DELAY: Duration = Duration::from_secs(300);

/// How long a message waits after a failure of its own. Outages of the broker are not of this kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backoff {
    /// The base, doubled at each try, with a random part of it ("equal jitter": at least half).
    #[default]
    Exponential,
    /// The base, once more at each try.
    Linear,
    /// No second try: dead at once.
    None,
}

impl Backoff {
    /// The delay before the try after `failures` failures (1 at least), or `None` when there is
    /// no further try.
    #[must_use]
    pub fn delay(self, base: Duration, failures: u32, max_retries: u32) -> Option<Duration> {
        if failures >= max_retries {
            return None;
        }
        match self {
            Self::None => None,
            Self::Linear => Some(base.saturating_mul(failures).min(MAX_DELAY)),
            Self::Exponential => {
                let doubled = 2u32.saturating_pow(failures.saturating_sub(1));
                let full = base.saturating_mul(doubled).min(MAX_DELAY);
                Some(full.mul_f64(rand::rng().random_range(0.5..=1.0)))
            }
        }
    }
}

impl FromStr for Backoff {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "exponential" => Ok(Self::Exponential),
            "linear" => Ok(Self::Linear),
            "none" => Ok(Self::None),
            _ => Err("expected exponential, linear or none".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    const BASE: Duration = Duration::from_secs(1);

    #[test]
    fn exponential_delays_double_and_keep_at_least_half() {
        for (failures, full) in [(1, 1), (2, 2), (3, 4), (20, 300), (u32::MAX - 1, 300)] {
            let delay = Backoff::Exponential.delay(BASE, failures, u32::MAX).expect("a delay");
            let full = Duration::from_secs(full);
            assert!(delay >= full / 2 && delay <= full, "{failures}: {delay:?}");
        }
    }

    #[test]
    fn a_message_is_dead_after_its_last_try() {
        assert_eq!(Backoff::Linear.delay(BASE, 2, 3), Some(BASE * 2));
        assert_eq!(Backoff::Linear.delay(BASE, 3, 3), None);
        assert_eq!(Backoff::Exponential.delay(BASE, 3, 3), None);
        assert_eq!(Backoff::None.delay(BASE, 1, 3), None);
    }
    proptest! {
        #[test]
        fn no_delay_is_longer_than_the_limit_and_there_are_as_many_as_allowed(
            base in 0u64..10_000_000, failures in 1u32.., max_retries in 0u32..
        ) {
            let base = Duration::from_millis(base);
            for backoff in [Backoff::Exponential, Backoff::Linear, Backoff::None] {
                let delay = backoff.delay(base, failures, max_retries);
                let again = failures < max_retries && backoff != Backoff::None;
                prop_assert_eq!(delay.is_some(), again);
                prop_assert!(delay.unwrap_or_default() <= MAX_DELAY);
            }
        }
    }
}
