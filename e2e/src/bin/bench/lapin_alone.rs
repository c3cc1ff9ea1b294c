//! What the client library alone can do: the limit that the relay is measured against.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{BasicProperties, Confirmation, Connection, ConnectionProperties};
use transport::Topology;

use crate::table::PAYLOAD;

/// Publishes `count` messages on one channel, `in_flight` of them unconfirmed at most.
pub(crate) async fn publish(
    url: &str,
    topology: &Topology,
    count: usize,
    in_flight: usize,
) -> anyhow::Result<Duration> {
    let connection = Connection::connect(url, ConnectionProperties::default()).await?;
    let channel = connection.create_channel().await?;
    channel.confirm_select(ConfirmSelectOptions::default()).await?;
    let exchange = ShortString::from(topology.exchange.as_str());
    let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
    let started = Instant::now();
    let mut unconfirmed = FuturesUnordered::new();
    for number in 0..count {
        if unconfirmed.len() >= in_flight {
            confirmed(unconfirmed.next().await)?;
        }
        let key = ShortString::from("order.placed");
        let published = channel.basic_publish(
            exchange.clone(),
            key,
            options,
            PAYLOAD.as_bytes(),
            properties(number),
        );
        unconfirmed.push(published.await?);
    }
    while let Some(confirmation) = unconfirmed.next().await {
        confirmed(Some(confirmation))?;
    }
    let took = started.elapsed();
    connection.close(200, "done".into()).await?;
    Ok(took)
}

fn confirmed(confirmation: Option<lapin::Result<Confirmation>>) -> anyhow::Result<()> {
    match confirmation.transpose()? {
        Some(Confirmation::Ack(None)) => Ok(()),
        other => anyhow::bail!("not confirmed: {other:?}"),
    }
}

/// The same properties as the relay's messages have.
fn properties(number: usize) -> BasicProperties {
    let mut headers = FieldTable::default();
    headers.insert("schema-version".into(), AMQPValue::LongLongInt(1));
    headers.insert("aggregate-version".into(), AMQPValue::LongLongInt(1));
    headers.insert("aggregate-id".into(), AMQPValue::LongString(format!("order-{number}").into()));
    BasicProperties::default()
        .with_message_id(ShortString::from(uuid::Uuid::now_v7().to_string()))
        .with_type("OrderPlaced".into())
        .with_content_type("application/json".into())
        .with_delivery_mode(2)
        .with_app_id("bench".into())
        .with_headers(headers)
}
