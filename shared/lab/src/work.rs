//! Who is in the middle of something. A message that was acknowledged too soon, or is being published by
//! hand, is in no table and in no queue until it is done.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// What a process may be in the middle of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Work {
    Consuming,
    Relaying,
    /// By hand, from the middle of a request.
    Publishing,
    /// With nobody who waits for the confirm.
    PublishingUnheard,
}

/// Processes at work, by the points that they pass.
#[derive(Debug, Default)]
pub(crate) struct AtWork(Mutex<BTreeSet<(String, Work)>>);

impl AtWork {
    /// A process has passed a point: it has begun or ended something.
    pub(crate) fn note(&self, process: &str, point: &str) {
        let (work, begins) = match point {
            "C17" | "C23" => (Work::Consuming, false),
            "C11"
            | "C12"
            | "C13"
            | "C14"
            | "C15"
            | "C16"
            | "C18"
            | "C19"
            | "C20"
            | "C21"
            | "C22"
            | "acked-too-soon"
            | "taken-again"
            | "inbox-row-committed" => (Work::Consuming, true),
            "C6" | "C8" => (Work::Relaying, true),
            "C10" => (Work::Relaying, false),
            "before-direct-publish" => (Work::Publishing, true),
            "direct-publish-answered" | "direct-publish-failed" => (Work::Publishing, false),
            "unheard-publish" => (Work::PublishingUnheard, true),
            "unheard-answer" => (Work::PublishingUnheard, false),
            _ => return,
        };
        let key = (process.to_owned(), work);
        match begins {
            true => self.works().insert(key),
            false => self.works().remove(&key),
        };
    }

    /// A process is dead.
    pub(crate) fn forget(&self, process: &str) {
        self.works().retain(|(at_work, _)| at_work != process);
    }

    /// Whether nobody is in the middle of anything.
    pub(crate) fn rests(&self) -> bool {
        self.works().is_empty()
    }

    fn works(&self) -> std::sync::MutexGuard<'_, BTreeSet<(String, Work)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_received_a_message_is_at_work_until_it_is_done_or_dead() {
        let work = AtWork::default();
        work.note("inventory-service", "acked-too-soon");
        work.note("inventory-service", "C16");
        assert!(!work.rests());
        work.note("inventory-service", "C17");
        assert!(work.rests());
        work.note("orders-relay", "C6");
        work.note("order-service", "before-direct-publish");
        work.forget("orders-relay");
        assert!(!work.rests());
        work.note("order-service", "direct-publish-failed");
        assert!(work.rests());
    }
}
