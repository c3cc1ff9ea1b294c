use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;

use crate::aggregate::Aggregate;
use crate::work::Work;

/// Messages that came before an earlier version of their aggregate, unsettled. As many as the
/// prefetch allows, at most.
pub(crate) struct WaitingRoom<E> {
    gap_wait: Duration,
    waiting: Vec<Work<E>>,
    look_again: Option<Instant>,
}

/// The missing version may be in another process's hands, and only the database tells when it has
/// taken effect.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

impl<E> WaitingRoom<E> {
    pub(crate) fn new(gap_wait: Duration) -> Self {
        Self { gap_wait, waiting: vec![], look_again: None }
    }

    /// Lets one wait, for the given time in all.
    pub(crate) fn put(&mut self, mut work: Work<E>) {
        let now = Instant::now();
        let own = *work.patience.get_or_insert(now + self.gap_wait);
        // When the patience of a later version ends, this one goes with it, and before it: handled
        // afterwards, it would be too late.
        let later = |other: &&Work<E>| {
            other.is_about_the_same_as(&work) && other.version() > work.version()
        };
        let until = self.waiting.iter().filter(later).filter_map(|other| other.patience).min();
        let until = until.map_or(own, |until| until.min(own));
        work.patience = Some(until);
        let look_again = until.min(now + LOOK_AGAIN);
        self.look_again = Some(self.look_again.map_or(look_again, |next| next.min(look_again)));
        self.waiting.push(work);
    }

    /// When it is time for another look at those who wait.
    pub(crate) fn look_again(&self) -> Option<Instant> {
        self.look_again
    }

    /// All of them, in the order of their versions, if it is time. Those behind a `held` aggregate
    /// go on waiting: an earlier version is being tried again here, and nothing is missing.
    pub(crate) fn take_due(&mut self, now: Instant, held: &HashSet<&Aggregate>) -> Vec<Work<E>> {
        if self.look_again.is_none_or(|next| next > now) {
            return vec![];
        }
        let is_held =
            |work: &Work<E>| work.step.as_ref().is_some_and(|step| held.contains(&step.aggregate));
        let mut due: Vec<_> = self.waiting.extract_if(.., |work| !is_held(work)).collect();
        due.sort_by_key(Work::version);
        self.look_again = (!self.waiting.is_empty()).then_some(now + LOOK_AGAIN);
        due
    }

    /// Those whose aggregate has moved on with `ended`, in the order of their versions.
    pub(crate) fn take_followers(&mut self, ended: &Work<E>) -> Vec<Work<E>> {
        let follows = |work: &mut Work<E>| work.is_about_the_same_as(ended);
        let mut followers: Vec<_> = self.waiting.extract_if(.., follows).collect();
        followers.sort_by_key(Work::version);
        if self.waiting.is_empty() {
            self.look_again = None;
        }
        followers
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use transport::{Delivery, Message, Settle, Settlement, TransportError};

    use super::*;
    use crate::aggregate::Step;
    use crate::{Reason, Unreadable};

    struct Never;

    #[async_trait]
    impl Settle for Never {
        async fn settle(self: Box<Self>, _: Settlement) -> Result<(), TransportError> {
            unreachable!("nobody settles here")
        }
    }

    fn work(aggregate: &str, version: i64, patience: Option<Instant>) -> Work<()> {
        let delivery = Delivery::new(Message::default(), false, Box::new(Never));
        let unread = Unreadable { reason: Reason::MalformedBody, detail: String::new() };
        let aggregate = Aggregate { kind: String::new(), id: aggregate.to_owned() };
        let step = Some(Step { aggregate, version });
        Work { delivery, read: Err(unread), step, suspect: false, patience }
    }

    #[test]
    fn the_patience_for_a_version_ends_with_that_for_a_later_one_of_its_aggregate() {
        let now = Instant::now();
        let soon = now + Duration::from_secs(1);
        let mut room = WaitingRoom::new(Duration::from_secs(3600));
        room.put(work("a", 3, Some(soon)));
        for (aggregate, version) in [("a", 2), ("a", 4), ("b", 2)] {
            room.put(work(aggregate, version, None));
        }
        let due = room.take_due(soon, &HashSet::new());
        let ends_soon = |work: &Work<()>| (work.version(), work.patience <= Some(soon));
        let a_ends_soon: Vec<_> =
            due.iter().filter(|work| work.is_about_the_same_as(&due[2])).map(ends_soon).collect();
        assert_eq!(a_ends_soon, [(2, true), (3, true), (4, false)]);
        let b = due.iter().find(|work| !work.is_about_the_same_as(&due[2])).map(ends_soon);
        assert_eq!(b, Some((2, false)), "another aggregate has nothing to do with it");
    }
}
