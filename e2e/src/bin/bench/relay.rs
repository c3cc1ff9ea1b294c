//! How fast one relay empties an outbox.

use std::time::{Duration, Instant};

use clap::Args;
use outbox::{Relay, RelayOptions};
use tokio_util::sync::CancellationToken;

use crate::lapin_alone;
use crate::table::{Outbox, pool};
use crate::tap::Tap;

#[derive(Debug, Args)]
pub(crate) struct Settings {
    /// Messages in each round
    #[arg(long, default_value_t = 50_000)]
    messages: u64,
    /// Aggregates that they are about; 0: each about one of its own
    #[arg(long, default_value_t = 0)]
    aggregates: u64,
    /// Sent rows in the table before; several values give several runs
    #[arg(long, value_delimiter = ',', default_value = "0")]
    sent: Vec<u64>,
    /// Rounds of each; the best of them counts
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Rows in one claim
    #[arg(long, default_value_t = RelayOptions::default().batch_size)]
    batch: u32,
    /// Batches under way at once
    #[arg(long, default_value_t = RelayOptions::default().batches_in_flight)]
    in_flight: u32,
}

pub(crate) async fn run(settings: &Settings) -> anyhow::Result<()> {
    println!(
        "{} messages to a quorum queue, one connection, every confirm awaited",
        settings.messages
    );
    for sent in &settings.sent {
        let outbox = Outbox::new(*sent).await?;
        let tap = Tap::new(&outbox.storage).await?;
        let (mut lapin, mut relay) = (Duration::MAX, Duration::MAX);
        for _ in 0..settings.rounds {
            let count = usize::try_from(settings.messages)?;
            lapin = lapin.min(lapin_alone::publish(&tap.url, &tap.topology, count, 1000).await?);
            tap.purge().await?;
            relay = relay.min(empty(settings, &outbox, &tap).await?);
            let held = tap.purge().await?;
            anyhow::ensure!(held == settings.messages, "{held} messages arrived");
        }
        let rate = |took: Duration| settings.messages as f64 / took.as_secs_f64();
        println!(
            "{sent:>9} sent rows before   lapin alone, 1000 in flight {:>7.0}/s   relay {:>7.0}/s   ratio {:.2}",
            rate(lapin),
            rate(relay),
            rate(relay) / rate(lapin)
        );
    }
    Ok(())
}

/// Fills the outbox, then lets a relay empty it.
async fn empty(settings: &Settings, outbox: &Outbox, tap: &Tap) -> anyhow::Result<Duration> {
    let aggregates = match settings.aggregates {
        0 => settings.messages,
        some => some,
    };
    outbox.add_pending(settings.messages, aggregates).await?;
    outbox.settle().await?;
    let options = RelayOptions {
        batch_size: settings.batch,
        batches_in_flight: settings.in_flight,
        ..RelayOptions::default()
    };
    let relay = Relay::new(pool(&outbox.url)?, tap.transport()?, options)?;
    let (totals, stop) = (relay.totals(), CancellationToken::new());
    let started = Instant::now();
    let running = tokio::spawn(relay.run(stop.clone()));
    while totals.read().sent < settings.messages {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let took = started.elapsed();
    stop.cancel();
    running.await?;
    Ok(took)
}
