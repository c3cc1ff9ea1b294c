//! Deliveries of one queue and their settlement.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use lapin::Acker;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicNackOptions, BasicQosOptions, BasicRejectOptions,
};
use lapin::types::{FieldTable, ShortString};
use tokio::time::timeout;

use super::declare::Purpose;
use super::session::Session;
use super::{Broker, declare, errors, wire};
use crate::{Consumer, Delivery, Headers, Settle, Settlement, TransportError};

/// A consuming session.
pub(super) struct RabbitConsumer {
    stream: lapin::Consumer,
    session: Session,
    settle_limit: Duration,
    /// What ended the session. lapin's stream says it once, then waits for ever.
    ended: Option<String>,
}

impl RabbitConsumer {
    pub(super) async fn open(
        broker: &Broker,
        queue: &str,
        prefetch: u16,
    ) -> Result<Self, TransportError> {
        let deadline = broker.deadline();
        let session = broker.connect(&format!("consumer of {queue}"), deadline).await?;
        let channel = broker.declared_channel(&session, Purpose::Consume(queue), deadline).await?;
        let queue = declare::name(queue)?;
        let client = &broker.options.client_name;
        // A name that is too long is no reason to fail: for an empty one the broker picks its own.
        let tag = ShortString::try_new(format!("{client}-{:08x}", rand::random::<u32>()));
        let subscribe = async {
            // Per consumer: RabbitMQ 4 refuses a limit for the whole channel on quorum queues.
            channel.basic_qos(prefetch, BasicQosOptions { global: false }).await?;
            let options = BasicConsumeOptions { no_ack: false, ..Default::default() };
            let tag = tag.unwrap_or_default();
            channel.basic_consume(queue, tag, options, FieldTable::default()).await
        };
        let subscribe = async { subscribe.await.map_err(|error| session.opening_error(error)) };
        let stream = deadline.limit("subscribing", subscribe).await?;
        let settle_limit = broker.options.confirm_timeout;
        Ok(Self { stream, session, settle_limit, ended: None })
    }

    fn end(&mut self, reason: String) -> TransportError {
        self.ended = Some(reason.clone());
        TransportError::SessionLost { reason }
    }
}

#[async_trait]
impl Consumer for RabbitConsumer {
    async fn next(&mut self) -> Result<Delivery, TransportError> {
        if let Some(reason) = self.ended.clone() {
            return Err(TransportError::SessionLost { reason });
        }
        match self.stream.next().await {
            Some(Ok(delivery)) => Ok(self.read(delivery)),
            Some(Err(error)) => Err(self.end(errors::reason(&error))),
            None if self.session.connected() => {
                Err(self.end("the queue was deleted or has moved".to_owned()))
            }
            None => Err(self.end("the connection was closed".to_owned())),
        }
    }
}

impl RabbitConsumer {
    fn read(&self, delivery: lapin::message::Delivery) -> Delivery {
        let message = wire::incoming(&delivery.routing_key, &delivery.properties, delivery.data);
        let redelivered = delivery.redelivered || delivered_before(&message.headers);
        let settle = RabbitSettle { acker: delivery.acker, limit: self.settle_limit };
        Delivery::new(message, redelivered, Box::new(settle))
    }
}

impl Drop for RabbitConsumer {
    fn drop(&mut self) {
        self.session.close(self.stream.clone());
    }
}

/// Quorum queues count deliveries in a header as well as setting the protocol's flag.
fn delivered_before(headers: &Headers) -> bool {
    let count = |name| headers.get(name).and_then(serde_json::Value::as_i64).unwrap_or_default();
    count("x-delivery-count") > 0 || count("x-acquired-count") > 0
}

struct RabbitSettle {
    acker: Acker,
    limit: Duration,
}

#[async_trait]
impl Settle for RabbitSettle {
    async fn settle(self: Box<Self>, settlement: Settlement) -> Result<(), TransportError> {
        let acker = &self.acker;
        let settled = async {
            match settlement {
                Settlement::Ack => acker.ack(BasicAckOptions { multiple: false }).await,
                Settlement::Requeue => {
                    acker.nack(BasicNackOptions { multiple: false, requeue: true }).await
                }
                Settlement::DeadLetter => acker.reject(BasicRejectOptions { requeue: false }).await,
            }
        };
        match timeout(self.limit, settled).await {
            Ok(Ok(true)) => Ok(()),
            // The session has ended meanwhile: the broker gives the message to another one.
            Ok(Ok(false)) => Err(TransportError::SessionLost {
                reason: "the delivery's session has ended; it will come again".to_owned(),
            }),
            Ok(Err(error)) => Err(errors::lost(&error)),
            Err(_) => Err(TransportError::TimedOut {
                doing: "settling a delivery",
                seconds: self.limit.as_secs_f32(),
            }),
        }
    }
}
