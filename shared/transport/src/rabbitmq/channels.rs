//! The channels of a publishing session.

use std::sync::{Mutex, MutexGuard, PoisonError};

use lapin::Channel;
use lapin::options::ConfirmSelectOptions;

use super::session::{Deadline, Session};
use crate::TransportError;

/// Channels in confirm mode, each for one batch at a time. All are kept until the session ends.
///
/// A batch that did not finish, since its caller gave up waiting, never gives its channel back: what
/// is still under way there would be charged to the next batch. Nor is that channel closed: lapin
/// sends the closing before the messages that wait, and a message on a closed channel makes the
/// broker close the whole connection, with the other batches on it.
#[derive(Default)]
pub(super) struct Channels(Mutex<Vec<Entry>>);

struct Entry {
    channel: Channel,
    idle: bool,
}

impl Channels {
    /// An idle channel, or a new one.
    pub(super) async fn take(
        &self,
        session: &Session,
        deadline: Deadline,
    ) -> Result<Channel, TransportError> {
        if let Some(channel) = self.take_idle() {
            return Ok(channel);
        }
        let channel = session.channel(deadline).await?;
        self.add(session, channel.clone(), deadline).await?;
        Ok(channel)
    }

    /// Puts a new channel into confirm mode and keeps it, as one that is taken.
    pub(super) async fn add(
        &self,
        session: &Session,
        channel: Channel,
        deadline: Deadline,
    ) -> Result<(), TransportError> {
        let select = async {
            let selected = channel.confirm_select(ConfirmSelectOptions::default()).await;
            selected.map_err(|error| session.opening_error(error))
        };
        deadline.limit("switching publisher confirms on", select).await?;
        self.lock().push(Entry { channel, idle: false });
        Ok(())
    }

    /// Gives back a channel with nothing under way on it.
    pub(super) fn give_back(&self, channel: &Channel) {
        for entry in self.lock().iter_mut() {
            entry.idle |= entry.channel.id() == channel.id();
        }
    }

    pub(super) fn all_connected(&self) -> bool {
        self.lock().iter().all(|entry| entry.channel.status().connected())
    }

    fn take_idle(&self) -> Option<Channel> {
        let mut entries = self.lock();
        let entry = entries.iter_mut().find(|entry| entry.idle)?;
        entry.idle = false;
        Some(entry.channel.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        // Nothing panics halfway through a change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
