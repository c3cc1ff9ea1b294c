//! All faults of a check at once: one run shows everything that is to be mended.

/// What is wrong, a line each.
#[derive(Default)]
pub(crate) struct Faults(Vec<String>);

impl Faults {
    /// Notes what is wrong unless it holds.
    pub(crate) fn unless(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.0.push(what());
        }
    }

    /// Fails the test if anything was noted.
    #[track_caller]
    pub(crate) fn none(self) {
        assert!(self.0.is_empty(), "{} faults:\n  {}", self.0.len(), self.0.join("\n  "));
    }
}
