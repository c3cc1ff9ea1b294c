use mistakes::{Mistake, Mistakes, UnknownMistake};

use crate::{Catalogue, Scenario};

/// What to try: a failure, and the mistakes with which it is met.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// What the programs do wrong.
    pub mistakes: Mistakes,
    /// What happens to them.
    pub failure: &'static Scenario,
}

/// An experiment that can't be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CantRun {
    /// No such mistake.
    #[error(transparent)]
    Mistake(#[from] UnknownMistake),
    /// No such failure.
    #[error("there is no failure {name:?}; there are {known}")]
    Failure {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// Two mistakes that can't be made together.
    #[error("{0} and {1} exclude each other: choose one")]
    Contradiction(Mistake, Mistake),
}

impl Experiment {
    /// An experiment by names; the mistakes with commas between them.
    ///
    /// # Errors
    /// What can't be made, and what can.
    pub fn new(mistakes: &str, failure: &str) -> Result<Self, CantRun> {
        let mistakes: Mistakes = mistakes.parse()?;
        if let Some((one, other)) = mistakes.contradiction() {
            return Err(CantRun::Contradiction(one, other));
        }
        let catalogue = Catalogue::get();
        let found = catalogue.failure(failure).ok_or_else(|| {
            let known: Vec<_> = catalogue.failures.iter().map(|it| it.id.as_str()).collect();
            CantRun::Failure { name: failure.to_owned(), known: known.join(", ") }
        })?;
        Ok(Self { mistakes, failure: found })
    }
}
