//! Acknowledgements that are under way at the same time share a transaction: on SQLite each one is
//! a wait for the disk.

use std::collections::HashSet;

use sea_orm::{DatabaseConnection, DbErr};
use tokio::sync::{mpsc, oneshot};

use super::{failed, store};
use crate::TransportError;

/// One statement takes so many at most.
const TOGETHER: usize = 1000;

/// Carries out the acknowledgements of one session. Ends when nobody can acknowledge any more.
#[derive(Clone)]
pub(super) struct Acks(mpsc::UnboundedSender<Ack>);

struct Ack {
    id: i64,
    answer: oneshot::Sender<Result<bool, TransportError>>,
}

impl Acks {
    pub(super) fn start(db: DatabaseConnection, token: String) -> Self {
        let (sender, mut waiting) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut acks = Vec::new();
            // The first of them is not kept waiting for others; those that came meanwhile go with it.
            while waiting.recv_many(&mut acks, TOGETHER).await > 0 {
                let ids: Vec<_> = acks.iter().map(|ack: &Ack| ack.id).collect();
                answer(acks.drain(..), store::ack(&db, &ids, &token).await);
            }
        });
        Self(sender)
    }

    /// Forgets a message. False when the session does not hold it any more.
    pub(super) async fn ack(&self, id: i64) -> Result<bool, TransportError> {
        let (answer, answered) = oneshot::channel();
        let _ = self.0.send(Ack { id, answer });
        answered.await.unwrap_or_else(|_| {
            Err(TransportError::SessionLost { reason: "the session has ended".to_owned() })
        })
    }
}

fn answer(acks: impl Iterator<Item = Ack>, done: Result<HashSet<i64>, DbErr>) {
    let done = done.map_err(|error| failed("settling a delivery")(error).one_line());
    for Ack { id, answer } in acks {
        // Nobody may be waiting for the answer any more.
        let _ = answer.send(match &done {
            Ok(ours) => Ok(ours.contains(&id)),
            Err(reason) => Err(TransportError::SessionLost { reason: reason.clone() }),
        });
    }
}
