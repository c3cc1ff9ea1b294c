//! How a relay looks for work: by age, or from aggregate to aggregate.

use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use sea_orm::{DatabaseConnection, DbErr};

use crate::claim::{self, Claim, Place};
use crate::rows::Rows;

/// Where the next look begins. It is only a memory of earlier looks: lost, it costs some time.
///
/// **By age**, the longest due first: best for many aggregates. **From aggregate to aggregate** (a
/// walk): best for few with many rows each, and when only rows that wait behind others are in sight. A
/// claim by age that came out short makes the next look a walk; a walk that has not seen all
/// aggregates, or has seen none, makes the next one go by age again.
#[derive(Debug)]
pub(crate) struct Look {
    walk_next: bool,
    /// Where the next walk begins.
    place: Place,
    /// Walks are dear for the moment: not before.
    no_walk_before: Instant,
    /// No row that was due earlier is expected.
    floor: Option<DateTime<Utc>>,
    /// When to look below the floor all the same.
    below_floor: Instant,
}

/// A transaction that began so long before its commit is late: its rows are found below the floor.
const LATE: TimeDelta = TimeDelta::seconds(5);

/// How often to look below the floor, at most. A walk looks there too.
const BELOW_FLOOR: Duration = Duration::from_secs(1);

/// A walk that takes longer and finds nothing may not take more than a fifth of the relay's time.
const DEAR: Duration = Duration::from_millis(250);

impl Default for Look {
    fn default() -> Self {
        let now = Instant::now();
        Self {
            walk_next: false,
            place: Place::default(),
            no_walk_before: now,
            floor: None,
            below_floor: now,
        }
    }
}

impl Look {
    /// Claims what may be published next.
    pub(crate) async fn claim(
        &mut self,
        db: &DatabaseConnection,
        claim: &Claim<'_>,
    ) -> Result<Rows, DbErr> {
        let may_walk = Instant::now() >= self.no_walk_before;
        // Set back first: a walk that fails must not be all that is ever tried.
        if !(std::mem::take(&mut self.walk_next) && may_walk) {
            let due = self.by_age(db, claim).await?;
            self.walk_next = due.len() < claim.limit as usize;
            if !due.is_empty() {
                return Ok(due);
            }
        }
        if !may_walk {
            return Ok(Rows::default());
        }
        let started = Instant::now();
        let walked = self.walk_on(db, claim).await;
        let (took, in_vain) = (started.elapsed(), walked.as_ref().map_or(true, Rows::is_empty));
        if in_vain && took > DEAR {
            self.no_walk_before = Instant::now() + 4 * took;
        }
        walked
    }

    /// The floor keeps it from reading, again and again, index entries of rows that were sent long ago:
    /// while any transaction is open that began before, PostgreSQL can't remove them.
    async fn by_age(&mut self, db: &DatabaseConnection, claim: &Claim<'_>) -> Result<Rows, DbErr> {
        let now = Instant::now();
        let floor = self.floor.filter(|_| now < self.below_floor);
        let due = claim::due(db, claim, floor).await?;
        if floor.is_none() {
            self.below_floor = now + BELOW_FLOOR.max(4 * now.elapsed());
        }
        if let Some(oldest) = due.readable.iter().map(|row| row.due).min() {
            self.floor = Some(oldest - LATE);
        }
        Ok(due)
    }

    /// Walks on until there is something to claim, or to the end, and from the start once more.
    async fn walk_on(&mut self, db: &DatabaseConnection, claim: &Claim<'_>) -> Result<Rows, DbErr> {
        let mut from_the_start = self.place == Place::default();
        loop {
            let rows = self.walk(db, claim).await?;
            let at_the_end = self.place == Place::default();
            if !rows.is_empty() || (at_the_end && from_the_start) {
                return Ok(rows);
            }
            from_the_start |= at_the_end;
        }
    }

    /// The heads of the next aggregates, as many as a batch holds.
    async fn walk(&mut self, db: &DatabaseConnection, claim: &Claim<'_>) -> Result<Rows, DbErr> {
        let from_the_start = self.place == Place::default();
        let (heads, last) =
            claim::heads_after(db, &self.place, claim.dead_letters, claim.limit).await?;
        let to_the_end = heads.len() < claim.limit as usize;
        self.place = last.filter(|_| !to_the_end).unwrap_or_default();
        self.walk_next = from_the_start && to_the_end && !heads.is_empty();
        match heads.is_empty() {
            true => Ok(Rows::default()),
            false => claim::heads(db, claim, heads).await,
        }
    }
}
