//! The queue that takes what is published.

use std::sync::Arc;

use lapin::options::QueuePurgeOptions;
use lapin::{Connection, ConnectionProperties};
use test_kit::Storage;
use transport::{Queue, Topology, Transport, TransportOptions};

/// The name of the queue.
pub(crate) const QUEUE: &str = "bench.orders";

/// A virtual host of its own with one bound quorum queue.
pub(crate) struct Tap {
    pub(crate) url: String,
    pub(crate) topology: Topology,
}

impl Tap {
    pub(crate) async fn new(storage: &Storage) -> anyhow::Result<Self> {
        let topology = Topology {
            exchange: "bench.events".to_owned(),
            dead_letter_exchange: "bench.dead-letters".to_owned(),
            queues: vec![Queue::new(QUEUE, "order.*")],
        };
        let tap = Self { url: storage.create_broker().await?, topology };
        drop(tap.transport()?.publisher().await?); // declares exchange and queue
        Ok(tap)
    }

    pub(crate) fn transport(&self) -> anyhow::Result<Arc<dyn Transport>> {
        Ok(transport::connect(&self.url, self.topology.clone(), TransportOptions::default())?)
    }

    /// Empties the queue, and says how many messages it held.
    pub(crate) async fn purge(&self) -> anyhow::Result<u64> {
        let connection = Connection::connect(&self.url, ConnectionProperties::default()).await?;
        let channel = connection.create_channel().await?;
        let held = channel.queue_purge(QUEUE.into(), QueuePurgeOptions::default()).await?;
        connection.close(200, "done".into()).await?;
        Ok(held.into())
    }
}
