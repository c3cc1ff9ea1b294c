//! Declares the exchanges, the queues and their bindings. Portable from RabbitMQ 3.10 to 4.3.

use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{Channel, ExchangeKind};

use super::{Broker, headers};
use crate::{Declare, Queue, Topology, TransportError};

/// Deliveries of a dead letter before it is set aside for good. It gets there only when it kills the
/// session of whoever reads it: lapin gives up a connection over a property that is no UTF-8.
const DEAD_LETTER_LIMIT: i32 = 100;

/// Where such a message stays, intact, for a person with another client. Nobody consumes it.
const UNREADABLE: &str = ".unreadable";

/// The last queue has nowhere to give up to: on reaching its limit it would drop the message.
/// RabbitMQ 4 sets a limit of 20 where none is given, and 3.10 does not know "no limit".
const NEVER: i32 = i32::MAX;

/// What a session is for.
#[derive(Clone, Copy)]
pub(super) enum Purpose<'a> {
    Publish,
    /// Of this queue.
    Consume(&'a str),
}

/// Declares what a session with this purpose has to. What exists already with the same arguments
/// stays as it is.
///
/// `failed` turns an error of the library into one of ours.
pub(super) async fn topology(
    channel: &Channel,
    broker: &Broker,
    purpose: Purpose<'_>,
    failed: impl Fn(lapin::Error) -> TransportError,
) -> Result<(), TransportError> {
    let topology = &broker.topology;
    match (broker.options.declare, purpose) {
        (Declare::All, _) => {
            exchanges(channel, topology, &failed).await?;
            for declared in &topology.queues {
                queue(channel, topology, declared, &failed).await?;
            }
        }
        (Declare::Own, Purpose::Consume(name)) => {
            exchanges(channel, topology, &failed).await?;
            let is_own = |queue: &&Queue| queue.name == name || queue.dead_letter_queue() == name;
            for own in topology.queues.iter().filter(is_own) {
                queue(channel, topology, own, &failed).await?;
            }
        }
        // Whether the exchange is there, the publisher's probe tells. A passive declare would need a
        // right from RabbitMQ 4.2.6 on.
        (Declare::Own, Purpose::Publish) => {}
    }
    Ok(())
}

async fn exchanges(
    channel: &Channel,
    topology: &Topology,
    failed: impl Fn(lapin::Error) -> TransportError,
) -> Result<(), TransportError> {
    let durable = ExchangeDeclareOptions { durable: true, ..Default::default() };
    // The probe's comes after the one that it answers for.
    for (exchange, kind) in [
        (&topology.exchange, ExchangeKind::Topic),
        (&topology.probe_exchange(), ExchangeKind::Direct),
        (&topology.dead_letter_exchange, ExchangeKind::Direct),
    ] {
        let exchange = name(exchange)?;
        let declared = channel.exchange_declare(exchange, kind, durable, FieldTable::default());
        declared.await.map_err(&failed)?;
    }
    Ok(())
}

async fn queue(
    channel: &Channel,
    topology: &Topology,
    queue: &Queue,
    failed: impl Fn(lapin::Error) -> TransportError,
) -> Result<(), TransportError> {
    let exchange = name(&topology.exchange)?;
    let dead_letters = name(&topology.dead_letter_exchange)?;
    // First the place for dead letters, so that the queue never lacks one.
    let own = name(&queue.name)?;
    let dead = name(&queue.dead_letter_queue())?;
    let unreadable = name(&format!("{}{UNREADABLE}", queue.name))?;
    let last = arguments(AMQPValue::LongInt(NEVER), None);
    declare(channel, &unreadable, last).await.map_err(&failed)?;
    bind(channel, &unreadable, &dead_letters, unreadable.clone()).await.map_err(&failed)?;

    let limit = AMQPValue::LongInt(DEAD_LETTER_LIMIT);
    let to_unreadable = arguments(limit, Some((&dead_letters, &unreadable)));
    declare(channel, &dead, to_unreadable).await.map_err(&failed)?;
    bind(channel, &dead, &dead_letters, own.clone()).await.map_err(&failed)?;

    let limit = AMQPValue::LongLongInt(queue.delivery_limit.into());
    let to_dead = arguments(limit, Some((&dead_letters, &own)));
    declare(channel, &own, to_dead).await.map_err(&failed)?;
    for pattern in &queue.bindings {
        bind(channel, &own, &exchange, name(pattern)?).await.map_err(&failed)?;
    }
    Ok(())
}

/// A name as AMQP carries it.
pub(super) fn name(text: &str) -> Result<ShortString, TransportError> {
    headers::short("a name in the topology", text)
        .map_err(|reason| TransportError::TopologyMismatch { reason })
}

/// A quorum queue's arguments; `dead_letters` is the exchange and the routing key for what it gives up on.
fn arguments(limit: AMQPValue, dead_letters: Option<(&ShortString, &ShortString)>) -> FieldTable {
    let text = |text: &str| AMQPValue::LongString(text.into());
    let mut arguments = FieldTable::default();
    // Without a limit, 3.10 puts a requeued message at the back of the queue.
    arguments
        .insert("x-queue-type".into(), text("quorum"))
        .insert("x-delivery-limit".into(), limit);
    if let Some((exchange, routing_key)) = dead_letters {
        arguments
            .insert("x-dead-letter-exchange".into(), text(exchange.as_str()))
            .insert("x-dead-letter-routing-key".into(), text(routing_key.as_str()))
            // The default strategy is at most once: a dead letter could get lost on its way. This
            // one keeps it in its queue until the other has it, and needs `reject-publish`.
            .insert("x-dead-letter-strategy".into(), text("at-least-once"))
            .insert("x-overflow".into(), text("reject-publish"));
    }
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
