//! Declares the exchanges, the queues and their bindings. Portable from RabbitMQ 3.10 to 4.3.

use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{Channel, ExchangeKind};

use super::headers;
use crate::{Queue, Topology, TransportError};

/// A dead-letter queue has nowhere to give up to: on reaching its limit it would drop the message.
/// RabbitMQ 4 sets a limit of 20 where none is given, and 3.10 does not know "no limit".
const NEVER: i32 = i32::MAX;

/// Declares all of it. What exists already with the same arguments stays as it is.
///
/// `failed` turns an error of the library into one of ours.
pub(super) async fn topology(
    channel: &Channel,
    topology: &Topology,
    failed: impl Fn(lapin::Error) -> TransportError,
) -> Result<(), TransportError> {
    let exchange = name(&topology.exchange)?;
    let dead_letters = name(&topology.dead_letter_exchange)?;
    let durable = ExchangeDeclareOptions { durable: true, ..Default::default() };
    for (exchange, kind) in
        [(&exchange, ExchangeKind::Topic), (&dead_letters, ExchangeKind::Direct)]
    {
        channel
            .exchange_declare(exchange.clone(), kind, durable, FieldTable::default())
            .await
            .map_err(&failed)?;
    }
    for queue in &topology.queues {
        // First the place for dead letters, so that the queue never lacks one.
        let own = name(&queue.name)?;
        let dead = name(&queue.dead_letter_queue())?;
        declare(channel, &dead, dead_letter_arguments()).await.map_err(&failed)?;
        bind(channel, &dead, &dead_letters, own.clone()).await.map_err(&failed)?;

        declare(channel, &own, arguments(queue, &dead_letters)).await.map_err(&failed)?;
        for pattern in &queue.bindings {
            bind(channel, &own, &exchange, name(pattern)?).await.map_err(&failed)?;
        }
    }
    Ok(())
}

/// A name as AMQP carries it.
pub(super) fn name(text: &str) -> Result<ShortString, TransportError> {
    headers::short("a name in the topology", text)
        .map_err(|reason| TransportError::TopologyMismatch { reason })
}

fn arguments(queue: &Queue, dead_letter_exchange: &ShortString) -> FieldTable {
    let text = |text: &str| AMQPValue::LongString(text.into());
    let mut arguments = FieldTable::default();
    arguments
        .insert("x-queue-type".into(), text("quorum"))
        // Without a limit, 3.10 puts a requeued message at the back of the queue.
        .insert("x-delivery-limit".into(), AMQPValue::LongLongInt(queue.delivery_limit.into()))
        .insert("x-dead-letter-exchange".into(), text(dead_letter_exchange.as_str()))
        .insert("x-dead-letter-routing-key".into(), text(&queue.name))
        // The default strategy is at most once: a dead letter could get lost on its way. This
        // one keeps it in its queue until the other has it, and needs `reject-publish`.
        .insert("x-dead-letter-strategy".into(), text("at-least-once"))
        .insert("x-overflow".into(), text("reject-publish"));
    arguments
}

fn dead_letter_arguments() -> FieldTable {
    let mut arguments = FieldTable::default();
    arguments
        .insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()))
        .insert("x-delivery-limit".into(), AMQPValue::LongInt(NEVER));
    arguments
}

async fn declare(
    channel: &Channel,
    queue: &ShortString,
    arguments: FieldTable,
) -> lapin::Result<()> {
    let durable = QueueDeclareOptions { durable: true, ..Default::default() };
    channel.queue_declare(queue.clone(), durable, arguments).await?;
    Ok(())
}

async fn bind(
    channel: &Channel,
    queue: &ShortString,
    exchange: &ShortString,
    pattern: ShortString,
) -> lapin::Result<()> {
    let (queue, exchange) = (queue.clone(), exchange.clone());
    let options = QueueBindOptions::default();
    channel.queue_bind(queue, exchange, pattern, options, FieldTable::default()).await
}
