//! What there is to try: failures, presets, and the rows of the matrix.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mistakes::{Mistake, Mistakes};
use serde::{Deserialize, Serialize};

use crate::{Scenario, Verdict};

/// Everything that can be tried.
#[derive(Debug)]
pub struct Catalogue {
    /// The failures, in the order of a message's way.
    pub failures: Vec<Scenario>,
    /// Sets of mistakes with a name.
    pub presets: Vec<Named>,
    /// The rows of the matrix.
    pub rows: Vec<Named>,
    /// What the matrix must show: by row, then by failure.
    pub expected: BTreeMap<String, BTreeMap<String, Verdict>>,
}

/// A set of mistakes with a name.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Named {
    /// Its name in links and files.
    pub id: String,
    /// The mistakes.
    pub mistakes: Mistakes,
}

macro_rules! scenarios {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../scenarios/", $name, ".json")))),+]
    };
}

const SCENARIOS: [(&str, &str); 15] = scenarios![
    "none",
    "client-retry",
    "crash-before-commit",
    "crash-after-commit",
    "two-relays",
    "broker-restart",
    "queue-missing",
    "confirm-lost",
    "crash-before-mark",
    "redelivery",
    "late-redelivery",
    "cancel-overtakes",
    "consumer-crash-before-commit",
    "consumer-crash-after-commit",
    "poison",
];

const EXPECTED: &str = include_str!("../matrix.json");

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue {
    failures: SCENARIOS.map(|(name, text)| read(name, text)).to_vec(),
    presets: presets(),
    rows: rows(),
    expected: read("matrix.json", EXPECTED),
});

/// The file is part of the program.
fn read<T: serde::de::DeserializeOwned>(name: &str, text: &str) -> T {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

impl Catalogue {
    /// The one that there is.
    #[must_use]
    pub fn get() -> &'static Self {
        &CATALOGUE
    }

    /// A failure by its name.
    #[must_use]
    pub fn failure(&self, id: &str) -> Option<&Scenario> {
        self.failures.iter().find(|failure| failure.id == id)
    }

    /// A row of the matrix by its name.
    #[must_use]
    pub fn row(&self, id: &str) -> Option<&Named> {
        self.rows.iter().find(|row| row.id == id)
    }
}

fn named(id: &str, mistakes: impl IntoIterator<Item = Mistake>) -> Named {
    Named { id: id.to_owned(), mistakes: mistakes.into_iter().collect() }
}

fn presets() -> Vec<Named> {
    use Mistake as M;
    vec![
        named(
            "naive",
            [
                M::NoIdempotencyKey,
                M::PublishAfterCommit,
                M::PublishWithoutMandatory,
                M::NoInbox,
                M::NoVersionOrder,
                M::AckBeforeCommit,
                M::RetryForEver,
                M::TextMessageWithoutKey,
            ],
        ),
        named(
            "outbox-only",
            [
                M::NoIdempotencyKey,
                M::NoInbox,
                M::NoVersionOrder,
                M::RetryForEver,
                M::TextMessageWithoutKey,
            ],
        ),
        named(
            "inbox-only",
            [M::NoIdempotencyKey, M::PublishAfterCommit, M::PublishWithoutMandatory],
        ),
        named("all", []),
    ]
}

/// The presets, each mistake alone, and a pair: a claim without a lock costs traffic, and the inbox hides
/// it; only without both does the effect double.
fn rows() -> Vec<Named> {
    let mut rows = presets();
    let all = rows.split_off(rows.len() - 1);
    let alone = Mistake::ALL.into_iter().map(|mistake| named(mistake.id(), [mistake]));
    let pair = [Mistake::ClaimWithoutLock, Mistake::NoInbox];
    let pair = named("claim-without-lock,no-inbox", pair);
    all.into_iter().chain(alone).chain([pair]).chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_of_the_matrix_has_its_expected_verdict() {
        let catalogue = Catalogue::get();
        for row in &catalogue.rows {
            for failure in &catalogue.failures {
                let expected = catalogue.expected.get(&row.id).and_then(|row| row.get(&failure.id));
                assert!(expected.is_some(), "{} × {}", row.id, failure.id);
            }
        }
        let cells: usize = catalogue.expected.values().map(BTreeMap::len).sum();
        assert_eq!(cells, catalogue.rows.len() * catalogue.failures.len());
    }

    #[test]
    fn every_protection_is_necessary_for_some_failure() {
        let catalogue = Catalogue::get();
        let all = &catalogue.expected["all"];
        assert!(all.values().all(|verdict| *verdict == Verdict::ExactlyOneEffect));
        for row in catalogue.rows.iter().filter(|row| row.id != "all") {
            // The inbox hides what a claim without a lock does: that one is proved by the pair.
            if row.id == Mistake::ClaimWithoutLock.id() {
                continue;
            }
            let harm =
                |verdict: &Verdict| !matches!(verdict, Verdict::ExactlyOneEffect | Verdict::Void);
            assert!(catalogue.expected[&row.id].values().any(harm), "{}", row.id);
        }
    }

    #[test]
    fn a_failure_is_called_as_its_file() {
        for (name, text) in SCENARIOS {
            assert_eq!(read::<Scenario>(name, text).id, name);
        }
    }
}
