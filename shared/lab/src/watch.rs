use std::time::{Duration, Instant};

use crate::pace::{LOOK, Silence};
use crate::recorder::Recorder;
use crate::trace::State;

/// Looks at the tables again and again, and knows how long nothing has changed.
pub(crate) struct Watch {
    pub(crate) state: State,
    pub(crate) silence: Silence,
    since: Instant,
}

impl Watch {
    pub(crate) fn new(state: State) -> Self {
        let silence = Silence { lasted: Duration::ZERO, looks: 0 };
        Self { state, silence, since: Instant::now() }
    }

    pub(crate) async fn look(&mut self, recorder: &Recorder) {
        tokio::time::sleep(LOOK).await;
        let state = recorder.look().await;
        let quiet = self.since.elapsed().min(recorder.since_last());
        if state != self.state || quiet < self.silence.lasted {
            *self = Self::new(state);
        } else {
            self.silence = Silence { lasted: quiet, looks: self.silence.looks + 1 };
        }
    }
}
