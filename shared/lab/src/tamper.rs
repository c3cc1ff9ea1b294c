//! What people and machines do to queues: replay, shovel, write nonsense into them.

use contracts::ORDER_EVENTS_QUEUE;
use transport::{Delivery, Message, Outcome, Properties, Settlement};

use crate::site::transport_of;

/// Puts each message of inventory's queue into it a second time.
pub(crate) async fn copy(broker_url: &str) -> anyhow::Result<u64> {
    rewrite(broker_url, |messages| {
        messages.into_iter().flat_map(|message| [message.clone(), message]).collect()
    })
    .await
}

/// Turns the order of the messages in inventory's queue round.
pub(crate) async fn reverse(broker_url: &str) -> anyhow::Result<u64> {
    rewrite(broker_url, |messages| messages.into_iter().rev().collect()).await
}

/// Publishes something that says it is an order, and is none.
pub(crate) async fn poison(broker_url: &str) -> anyhow::Result<()> {
    let message = Message {
        routing_key: "order.placed".to_owned(),
        properties: Properties {
            message_id: Some(uuid::Uuid::now_v7().to_string()),
            kind: Some("OrderPlaced".to_owned()),
            content_type: Some("application/json".to_owned()),
            ..Properties::default()
        },
        body: b"{ this is no JSON".to_vec(),
        ..Message::default()
    };
    publish(broker_url, &[message]).await
}

/// Takes everything out, publishes what `change` makes of it, then acknowledges what it took. Says how
/// much that was.
async fn rewrite(
    broker_url: &str,
    change: impl FnOnce(Vec<Message>) -> Vec<Message>,
) -> anyhow::Result<u64> {
    let transport = transport_of(broker_url)?;
    let depths = transport.depths().await?;
    let waiting = depths.iter().find(|depth| depth.queue == ORDER_EVENTS_QUEUE);
    let waiting = waiting.map_or(0, |depth| depth.ready + depth.unacked.unwrap_or(0));
    let mut session = transport.consumer(ORDER_EVENTS_QUEUE, 100).await?;
    let mut taken: Vec<Delivery> = vec![];
    for _ in 0..waiting {
        taken.push(session.next().await?);
    }
    let messages = taken.iter().map(|delivery| delivery.message.clone()).collect();
    publish(broker_url, &change(messages)).await?;
    for delivery in taken {
        delivery.settle(Settlement::Ack).await?;
    }
    Ok(waiting)
}

async fn publish(broker_url: &str, messages: &[Message]) -> anyhow::Result<()> {
    let published = transport_of(broker_url)?.publisher().await?.publish(messages).await;
    let confirmed = published.outcomes.iter().all(|outcome| *outcome == Outcome::Confirmed);
    anyhow::ensure!(confirmed, "the lab's messages were not confirmed: {published:?}");
    Ok(())
}
