//! An inbox that forgets before the sender has stopped sending again. The settings refuse it
//! (`INBOX_RETENTION` is never shorter than `OUTBOX_RETENTION`); a `DELETE` in somebody's cron job asks nobody.

use std::time::Duration;

pub(super) const RETENTION: Duration = Duration::ZERO;
