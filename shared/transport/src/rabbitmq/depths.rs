//! How full the queues are.

use lapin::Channel;
use lapin::options::QueueDeclareOptions;
use lapin::types::FieldTable;
use tokio::sync::Mutex;

use super::session::{Deadline, Session};
use super::{Broker, declare, errors};
use crate::{QueueDepth, TransportError};

/// Asks the broker on a connection that is kept for the next time, for a page asks often.
#[derive(Default)]
pub(super) struct Depths(Mutex<Option<Session>>);

impl Depths {
    pub(super) async fn read(&self, broker: &Broker) -> Result<Vec<QueueDepth>, TransportError> {
        let deadline = broker.deadline();
        let mut kept = self.0.lock().await;
        // Taken out: if this fails, or its caller gives up, the connection is not used again.
        let session = match kept.take() {
            Some(session) if session.connected() => session,
            _ => broker.connect("depths", deadline).await?,
        };
        let depths = ask(broker, &session, deadline).await?;
        *kept = Some(session);
        Ok(depths)
    }
}

/// Queues that nobody has declared yet are left out: looking must not create them.
async fn ask(
    broker: &Broker,
    session: &Session,
    deadline: Deadline,
) -> Result<Vec<QueueDepth>, TransportError> {
    let mut depths = Vec::new();
    let mut channel = session.channel(deadline).await?;
    for queue in &broker.topology.queues {
        for name in [queue.name.clone(), queue.dead_letter_queue()] {
            let question = depth(session, &channel, name);
            match deadline.limit("reading a queue's depth", question).await? {
                Some(depth) => depths.push(depth),
                // The broker closes the channel on which one asks for a missing queue.
                None => channel = session.channel(deadline).await?,
            }
        }
    }
    Ok(depths)
}

async fn depth(
    session: &Session,
    channel: &Channel,
    queue: String,
) -> Result<Option<QueueDepth>, TransportError> {
    let name = declare::name(&queue)?;
    let look = QueueDeclareOptions { passive: true, ..Default::default() };
    match channel.queue_declare(name, look, FieldTable::default()).await {
        Ok(found) => Ok(Some(QueueDepth {
            queue,
            ready: found.message_count().into(),
            unacked: None,
            consumers: Some(found.consumer_count().into()),
        })),
        Err(error) if errors::is_not_found(&error) => Ok(None),
        Err(error) => Err(session.opening_error(error)),
    }
}
