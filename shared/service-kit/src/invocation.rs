//! What a program was asked for: to serve, or one of its commands.

use std::process::ExitCode;

use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};

use crate::healthcheck::OnlyHealthcheck;
use crate::program;

/// A command line. Without a subcommand the program serves, by flags and environment.
#[derive(Debug, Clone)]
pub enum Invocation<S, C> {
    /// Serve until told to stop.
    Serve(Box<S>),
    /// Carry out a command, then end.
    Command(Box<C>),
}

impl<S, const PORT: u16> Invocation<S, OnlyHealthcheck<PORT>> {
    /// Serves, or asks the process that does.
    pub fn run<F>(self, serve: impl FnOnce(S) -> F) -> ExitCode
    where
        F: Future<Output = anyhow::Result<()>>,
    {
        match self {
            Self::Serve(settings) => program::run(serve(*settings)),
            Self::Command(command) => match *command {
                OnlyHealthcheck::Healthcheck(check) => check.run(),
            },
        }
    }
}

impl<S: Args, C: Subcommand> Args for Invocation<S, C> {
    fn augment_args(command: Command) -> Command {
        // With a subcommand, what serving requires is not required.
        C::augment_subcommands(S::augment_args(command))
            .subcommand_required(false)
            .arg_required_else_help(false)
            .subcommand_negates_reqs(true)
            .args_conflicts_with_subcommands(true)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<S: Args, C: Subcommand> FromArgMatches for Invocation<S, C> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        match matches.subcommand_name() {
            None => S::from_arg_matches(matches).map(|s| Self::Serve(Box::new(s))),
            Some(_) => C::from_arg_matches(matches).map(|c| Self::Command(Box::new(c))),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
