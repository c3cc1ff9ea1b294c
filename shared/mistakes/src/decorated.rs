use std::sync::Arc;

use async_trait::async_trait;
use transport::{Consumer, Publisher, QueueDepth, Transport, TransportError};

/// A transport whose sessions are not what they seem.
pub(crate) struct Decorated {
    pub(crate) inner: Arc<dyn Transport>,
    pub(crate) publisher: fn(Box<dyn Publisher>) -> Box<dyn Publisher>,
    pub(crate) consumer: fn(Box<dyn Consumer>) -> Box<dyn Consumer>,
}

pub(crate) fn publisher(
    inner: Arc<dyn Transport>,
    publisher: fn(Box<dyn Publisher>) -> Box<dyn Publisher>,
) -> Arc<dyn Transport> {
    Arc::new(Decorated { inner, publisher, consumer: |as_it_is| as_it_is })
}

pub(crate) fn consumer(
    inner: Arc<dyn Transport>,
    consumer: fn(Box<dyn Consumer>) -> Box<dyn Consumer>,
) -> Arc<dyn Transport> {
    Arc::new(Decorated { inner, publisher: |as_it_is| as_it_is, consumer })
}

#[async_trait]
impl Transport for Decorated {
    async fn publisher(&self) -> Result<Box<dyn Publisher>, TransportError> {
        self.inner.publisher().await.map(self.publisher)
    }

    async fn consumer(
        &self,
        queue: &str,
        prefetch: u16,
    ) -> Result<Box<dyn Consumer>, TransportError> {
        self.inner.consumer(queue, prefetch).await.map(self.consumer)
    }

    async fn depths(&self) -> Result<Vec<QueueDepth>, TransportError> {
        self.inner.depths().await
    }
}
