//! From commit to queue, while nothing else happens.

use std::time::{Duration, Instant};

use clap::Args;
use database::begin_write;
use outbox::{NewMessage, Relay, RelayOptions};
use tokio_util::sync::CancellationToken;
use transport::{Message, Outcome, Properties, Settlement};

use crate::table::{Outbox, PAYLOAD, pool};
use crate::tap::{QUEUE, Tap};

#[derive(Debug, Args)]
pub(crate) struct Settings {
    /// Messages, one after another
    #[arg(long, default_value_t = 1000)]
    messages: u32,
    /// The pause between two of them, in milliseconds
    #[arg(long, default_value_t = 20)]
    pause: u64,
}

pub(crate) async fn run(settings: &Settings) -> anyhow::Result<()> {
    let outbox = Outbox::new(0).await?;
    let tap = Tap::new(&outbox.storage).await?;
    // The poll is far away: what is measured is the hint.
    let options =
        RelayOptions { poll_interval: Duration::from_secs(60), ..RelayOptions::default() };
    let relay = Relay::new(pool(&outbox.url)?, tap.transport()?, options)?;
    let stop = CancellationToken::new();
    let running = tokio::spawn(relay.run(stop.clone()));
    let hints = outbox::hint_sender(&outbox.db, stop.clone());
    let mut queue = tap.transport()?.consumer(QUEUE, 10).await?;
    let payload: serde_json::Value = serde_json::from_str(PAYLOAD)?;

    // What the broker and the network take by themselves: the same message, published directly.
    let publisher = tap.transport()?.publisher().await?;
    let mut alone = Vec::new();
    for number in 0..settings.messages {
        let message = direct(number);
        let started = Instant::now();
        let (published, delivery) = tokio::join!(publisher.publish(&message), queue.next());
        anyhow::ensure!(published.outcomes == [Outcome::Confirmed], "{published:?}");
        alone.push(started.elapsed());
        delivery?.settle(Settlement::Ack).await?;
        tokio::time::sleep(Duration::from_millis(settings.pause)).await;
    }

    let mut took = Vec::new();
    for number in 0..settings.messages {
        let id = format!("latency-{number}");
        let message = NewMessage::new("Order", &id, 1, "OrderPlaced", &payload)?;
        let tx = begin_write(&outbox.db).await?;
        outbox::append(&tx, message).await?;
        tx.commit().await?;
        let committed = Instant::now();
        hints.send();
        let delivery = queue.next().await?;
        took.push(committed.elapsed());
        delivery.settle(Settlement::Ack).await?;
        tokio::time::sleep(Duration::from_millis(settings.pause)).await;
    }
    stop.cancel();
    running.await?;

    println!(
        "{} messages, one every {} ms, to arrival at a consumer",
        settings.messages, settings.pause
    );
    print("published directly", alone);
    print("from the commit", took);
    Ok(())
}

fn direct(number: u32) -> [Message; 1] {
    [Message {
        routing_key: "order.placed".to_owned(),
        properties: Properties {
            message_id: Some(format!("direct-{number}")),
            ..Properties::default()
        },
        body: PAYLOAD.as_bytes().to_vec(),
        ..Message::default()
    }]
}

fn print(what: &str, mut took: Vec<Duration>) {
    took.sort_unstable();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize].as_secs_f64() * 1000.0;
    println!(
        "{what:>20}  p50 {:.1} ms  p90 {:.1} ms  p99 {:.1} ms  max {:.1} ms",
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0)
    );
}
