//! One batch on its way: published, then written back.

use std::sync::Arc;

use crash_points::crash_point;
use sea_orm::DbErr;
use transport::{Message, Outcome, Published, Publisher, TransportError};

use crate::desk::{Desk, Ticket, Written};
use crate::rows::{Claimed, Garbage, Rows};
use crate::{Coordination, envelope};

/// Rows under one claim, and the session on which they go.
pub(crate) struct Batch {
    pub(crate) desk: Arc<Desk>,
    pub(crate) publisher: Arc<dyn Publisher>,
    pub(crate) ticket: Ticket,
    pub(crate) rows: Rows,
}

/// What became of a batch.
pub(crate) struct Relayed {
    pub(crate) claimed: usize,
    pub(crate) publisher: Arc<dyn Publisher>,
    /// Set when the session can't be used any more.
    pub(crate) lost: Option<TransportError>,
    pub(crate) written: Result<Written, DbErr>,
}

impl Batch {
    /// As many rows as a claim may take: there may be more.
    pub(crate) fn is_full(&self) -> bool {
        self.rows.len() >= self.desk.options.batch_size as usize
    }

    /// Publishes and writes back. No transaction is open while it talks to the broker.
    pub(crate) async fn relay(self) -> Relayed {
        crash_point!("C6"); // claimed, not published: the lease ends, another relay publishes
        let claimed = self.rows.len();
        let Self { desk, publisher, ticket, rows } = self;
        let (rows, messages, garbage) = to_messages(&desk, rows);

        let published = match desk.options.coordination {
            Coordination::Shared => publisher.publish(&messages).await,
            Coordination::Leader => {
                let first_garbage = garbage.iter().map(|garbage| garbage.row.place()).min();
                let before = rows.iter().take_while(|row| {
                    first_garbage.is_none_or(|place| (Some(row.due), row.id) < place)
                });
                in_order(&desk, &*publisher, &ticket, &messages[..before.count()]).await
            }
        };
        crash_point!("C8"); // confirmed, not marked: published again, the inbox takes it

        let written = write_back(&desk, &ticket, &rows, garbage, published.outcomes).await;
        crash_point!("C10"); // marked: nothing is left to do
        Relayed { claimed, publisher, lost: published.lost, written }
    }
}

async fn write_back(
    desk: &Desk,
    ticket: &Ticket,
    rows: &[Claimed],
    garbage: Vec<Garbage>,
    outcomes: Vec<Outcome>,
) -> Result<Written, DbErr> {
    let written = desk.answers(ticket, rows, outcomes).await?;
    let wait = desk.garbage(ticket, garbage).await?;
    Ok(Written { wait: written.wait.max(wait), ..written })
}

/// For a leader: each message only after the one before it was confirmed, and none after one that was
/// not. Ends in the middle of the lease: a leader that was frozen must not go on beside the next one.
/// The messages that it did not come to have no outcome.
async fn in_order(
    desk: &Desk,
    publisher: &dyn Publisher,
    ticket: &Ticket,
    messages: &[Message],
) -> Published {
    let mut published = Published { outcomes: vec![], lost: None };
    for message in messages {
        if ticket.claimed_at.elapsed() > desk.options.lease / 2 {
            break;
        }
        let one = publisher.publish(std::slice::from_ref(message)).await;
        let confirmed = one.outcomes == [Outcome::Confirmed];
        published.outcomes.extend(one.outcomes);
        published.lost = one.lost;
        if !confirmed || published.lost.is_some() {
            break;
        }
    }
    published
}

/// Splits a batch into what can be published, with its messages, and what can't, with the reason.
fn to_messages(desk: &Desk, rows: Rows) -> (Vec<Claimed>, Vec<Message>, Vec<Garbage>) {
    let (mut readable, mut messages, mut garbage) = (vec![], vec![], rows.garbage);
    for row in rows.readable {
        match envelope::message(&row, &desk.options) {
            Ok(message) => {
                readable.push(row);
                messages.push(message);
            }
            Err(error) => garbage.push(Garbage {
                row: row.failing(),
                reason: format!("can't be made a message: {error}"),
            }),
        }
    }
    (readable, messages, garbage)
}
