use std::time::Duration;

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use inbox::ConsumerOptions;

use super::duration;

/// How this process reads its queue.
#[derive(Debug, Clone, Args)]
struct Reading {
    /// Deliveries in hand at most
    #[arg(long, env, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..))]
    consumer_prefetch: u16,

    /// Messages in one transaction at most, 1 to 1000
    #[arg(long, env, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    consumer_batch_size: u16,

    /// PostgreSQL: transactions at the same time, 1 to 64; each takes a connection
    #[arg(long, env, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    consumer_concurrency: u16,

    /// How long a message waits for an earlier one about the same thing that has not come; at least as
    /// long as the tries of a failing one take
    #[arg(long, env, default_value = "60s", value_parser = duration)]
    consumer_gap_wait: Duration,

    /// Starts of a message's handler without success, before it is parked
    #[arg(long, env, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    consumer_max_attempts: u32,

    /// The wait before the second try; it doubles at each further one
    #[arg(long, env, default_value = "1s", value_parser = duration)]
    consumer_retry_delay: Duration,
}

/// How this process reads its queue. There is no way to get one that gives up on messages which are
/// only tried again.
#[derive(Debug, Clone)]
pub struct ConsumerSettings(Reading);

impl ConsumerSettings {
    /// The options of the consumer `name` on `queue`.
    #[must_use]
    pub fn options(&self, name: &str, queue: &str) -> ConsumerOptions {
        ConsumerOptions {
            prefetch: self.0.consumer_prefetch,
            batch: self.0.consumer_batch_size.into(),
            concurrency: self.0.consumer_concurrency.into(),
            gap_wait: Some(self.0.consumer_gap_wait),
            max_attempts: self.0.consumer_max_attempts,
            retry_delay: self.0.consumer_retry_delay,
            ..ConsumerOptions::new(name, queue)
        }
    }

    /// While one consumer tries a message again, another one may have the next about the same thing
    /// in hand: if that one waits less, the first comes too late.
    fn checked(found: Reading) -> Result<Self, clap::Error> {
        let settings = Self(found);
        let (gap, retries) =
            (settings.0.consumer_gap_wait, settings.options("", "").retries_take());
        if gap >= retries {
            return Ok(settings);
        }
        let text = format!(
            "CONSUMER_GAP_WAIT ({}) is shorter than the tries of a failing message take ({}, by \
             CONSUMER_MAX_ATTEMPTS and CONSUMER_RETRY_DELAY): what is only tried again would be \
             taken for lost; make it at least as long\n",
            humantime::format_duration(gap),
            humantime::format_duration(retries),
        );
        Err(clap::Error::raw(ErrorKind::ValueValidation, text))
    }
}

impl FromArgMatches for ConsumerSettings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Self::checked(Reading::from_arg_matches(matches)?)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for ConsumerSettings {
    fn augment_args(command: Command) -> Command {
        Reading::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Reading::augment_args_for_update(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(flags: &[&str]) -> Result<ConsumerSettings, String> {
        let command = ConsumerSettings::augment_args(Command::new("it").no_binary_name(true));
        let matches = command.try_get_matches_from(flags).map_err(|error| error.to_string())?;
        ConsumerSettings::from_arg_matches(&matches).map_err(|error| error.to_string())
    }

    #[test]
    fn a_gap_wait_that_ends_before_the_tries_of_a_failing_message_is_refused() {
        parsed(&[]).expect("the defaults");
        parsed(&["--consumer-gap-wait", "15s"]).expect("just long enough");
        let refused = parsed(&["--consumer-gap-wait", "14999ms"]).expect_err("refused");
        let says = "CONSUMER_GAP_WAIT (14s 999ms) is shorter than the tries of a failing message take (15s";
        assert!(refused.contains(says), "{refused}");
        parsed(&["--consumer-max-attempts", "4294967295"]).expect_err("refused");
        parsed(&["--consumer-retry-delay", "0s", "--consumer-max-attempts", "4294967295"])
            .expect("no wait at all");
    }
}
