//! Order per aggregate: whose turn it is, by the versions that messages carry.

use std::collections::BTreeSet;

use sea_orm::{ConnectionTrait, DbErr};
use tokio::time::Instant;

use crate::positions::{self, Positions};
use crate::work::Work;

/// When a message may take effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Now: it is the next version, or has no place in an order.
    Now,
    /// Now, although an earlier version is missing: it has waited long enough.
    GapGivenUp,
    /// Not yet: an earlier version is missing.
    Early,
    /// Never again: a later version has taken effect.
    Late,
}

/// The turns of several messages, one after the other, and where their aggregates stand afterwards.
pub(crate) struct Turns {
    pub(crate) turns: Vec<Turn>,
    pub(crate) moved: Positions,
}

impl Turns {
    /// Looks up where the aggregates of `batch` stand.
    pub(crate) async fn of<C: ConnectionTrait, E>(
        db: &C,
        consumer: &str,
        batch: &[Work<E>],
    ) -> Result<Self, DbErr> {
        let aggregates: BTreeSet<_> = batch
            .iter()
            .filter_map(|work| work.step.as_ref())
            .map(|step| &step.aggregate)
            .collect();
        let mut known = positions::read(db, consumer, &aggregates).await?;
        let (mut turns, mut moved, now) = (vec![], Positions::new(), Instant::now());
        for work in batch {
            let Some(step) = &work.step else {
                turns.push(Turn::Now);
                continue;
            };
            let position = known.entry(step.aggregate.clone()).or_insert(0);
            let turn = match step.version {
                late if late <= *position => Turn::Late,
                next if next == *position + 1 => Turn::Now,
                _ if work.patience.is_some_and(|until| until <= now) => Turn::GapGivenUp,
                _ => Turn::Early,
            };
            if matches!(turn, Turn::Now | Turn::GapGivenUp) {
                *position = step.version;
                moved.insert(step.aggregate.clone(), step.version);
            }
            turns.push(turn);
        }
        Ok(Self { turns, moved })
    }
}
