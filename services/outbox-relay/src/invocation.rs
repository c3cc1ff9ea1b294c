//! What the program was asked for: to relay, or one look or action of a person.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};

use crate::Settings;
use crate::operate::Operation;

/// A command line of the relay. Without a subcommand it relays, by flags and environment.
#[derive(Debug, Clone)]
pub enum Invocation {
    /// Move messages until told to stop.
    Relay(Box<Settings>),
    /// Look or act, then end.
    Operate(Box<Operation>),
}

impl Args for Invocation {
    fn augment_args(command: Command) -> Command {
        // With a subcommand, what relaying requires is not required.
        Operation::augment_subcommands(Settings::augment_args(command))
            .subcommand_required(false)
            .arg_required_else_help(false)
            .subcommand_negates_reqs(true)
            .args_conflicts_with_subcommands(true)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Invocation {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        match matches.subcommand_name() {
            None => Settings::from_arg_matches(matches).map(|s| Self::Relay(Box::new(s))),
            Some(_) => Operation::from_arg_matches(matches).map(|o| Self::Operate(Box::new(o))),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
