use std::time::Duration;

/// How long things take before something else happens. `quiet` and `stuck` also want a number of looks at
/// the tables: where everything is slow, so are the looks, and the lab waits longer.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// The relays' lease: after a crash the next relay waits for its end.
    pub lease: Duration,
    /// The same for deliveries of the queue in SQL.
    pub visibility: Duration,
    /// With nothing waiting anywhere and no point passed for so long, nothing more will come.
    pub quiet: Duration,
    /// With something waiting and no point passed for so long, nothing more will come either.
    pub stuck: Duration,
}

impl Pace {
    /// For a person who waits: on a machine that is not busy with other things a run takes one to two seconds.
    #[must_use]
    pub fn quick() -> Self {
        Self::of_millis(800, 500, 150, 1200)
    }

    /// For machines that are busy with other things.
    #[must_use]
    pub fn patient() -> Self {
        Self::of_millis(1500, 1000, 250, 4000)
    }

    fn of_millis(lease: u64, visibility: u64, quiet: u64, stuck: u64) -> Self {
        let [lease, visibility, quiet, stuck] =
            [lease, visibility, quiet, stuck].map(Duration::from_millis);
        Self { lease, visibility, quiet, stuck }
    }

    /// Whether a silence is long enough to be one.
    pub(crate) fn is(silence: Silence, limit: Duration) -> bool {
        silence.lasted > limit && silence.looks > limit.as_millis() / LOOK.as_millis() / 2
    }
}

/// Between two looks at the tables.
pub(crate) const LOOK: Duration = Duration::from_millis(15);

/// How long nothing has happened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Silence {
    pub(crate) lasted: Duration,
    /// Looks at the tables since then.
    pub(crate) looks: u128,
}
