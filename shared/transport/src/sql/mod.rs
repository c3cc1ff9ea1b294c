//! The SQL transport: a durable queue in a database, so that the whole system runs with nothing
//! else installed, and still survives `kill -9`.
//!
//! | broker's notion | here |
//! | --- | --- |
//! | publish, confirm | an insert, its commit |
//! | routing | rows of `broker_bindings`; a message that no row matches is reported as unroutable |
//! | unacked | a lease on the row: it ends with the visibility time-out unless its holder renews it |
//! | ack | a delete |
//! | dead letter | the row moves to the queue `<queue>.dead` |
//!
//! It keeps the order of a queue for a single consumer. It is no match for a broker in
//! throughput, and is not meant to be.

mod acks;
mod consumer;
mod publisher;
mod schema;
mod store;
#[cfg(feature = "lab")]
pub mod switch;

use async_trait::async_trait;
use database::{Failure, PoolSettings};
use sea_orm::{DatabaseConnection, DbErr};

use crate::{
    Consumer, Publisher, QueueDepth, Topology, Transport, TransportError, TransportOptions, redact,
};

/// The channel on which publishers tell consumers in other processes to look.
const HINT_CHANNEL: &str = "broker_messages";

/// A broker made of three tables.
#[derive(Debug)]
pub struct SqlTransport {
    db: DatabaseConnection,
    url: String,
    topology: Topology,
    options: TransportOptions,
}

impl SqlTransport {
    /// Makes the transport; connects to nothing yet.
    ///
    /// # Errors
    /// [`TransportError::InvalidUrl`].
    pub fn new(
        url: &str,
        topology: Topology,
        options: TransportOptions,
    ) -> Result<Self, TransportError> {
        let settings =
            PoolSettings { application_name: options.client_name.clone(), max_connections: 4 };
        let db = database::connect(url, &settings).map_err(|error| TransportError::InvalidUrl {
            url: redact(url),
            reason: error.to_string(),
        })?;
        Ok(Self { db, url: redact(url), topology, options })
    }

    /// Makes sure that tables and bindings are there, as each session of any transport does.
    async fn open(&self) -> Result<(), TransportError> {
        schema::create_if_missing(&self.db)
            .await
            .map_err(|source| TransportError::Unreachable { url: self.url.clone(), source })?;
        store::declare(&self.db, &self.topology).await.map_err(failed("declaring queues"))
    }
}

#[async_trait]
impl Transport for SqlTransport {
    async fn publisher(&self) -> Result<Box<dyn Publisher>, TransportError> {
        self.open().await?;
        Ok(Box::new(publisher::SqlPublisher::start(
            self.db.clone(),
            self.topology.exchange.clone(),
            &self.options,
        )))
    }

    async fn consumer(
        &self,
        queue: &str,
        prefetch: u16,
    ) -> Result<Box<dyn Consumer>, TransportError> {
        self.open().await?;
        Ok(Box::new(consumer::SqlConsumer::start(self.db.clone(), queue, prefetch, &self.options)))
    }

    async fn depths(&self) -> Result<Vec<QueueDepth>, TransportError> {
        match store::depths(&self.db).await {
            // No session was opened yet: there are no queues, and looking does not create them.
            Err(error) if Failure::of(&error) == Failure::SchemaMissing => Ok(Vec::new()),
            depths => depths.map_err(failed("counting messages")),
        }
    }
}

fn failed(doing: &'static str) -> impl FnOnce(DbErr) -> TransportError {
    move |source| TransportError::Database { doing, source }
}
