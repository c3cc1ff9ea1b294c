//! What sent rows cost a claim: nothing, or it is a bug.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use clap::Args;
use outbox::{Pass, Relay, RelayOptions};
use transport::{
    Consumer, Message, Outcome, Published, Publisher, QueueDepth, Transport, TransportError,
};

use crate::table::{Outbox, pool};

#[derive(Debug, Args)]
pub(crate) struct Settings {
    /// Sent rows in the second table; the first has none
    #[arg(long, default_value_t = 5_000_000)]
    sent: u64,
    /// Passes of 500 rows in each table, in turns
    #[arg(long, default_value_t = 100)]
    passes: u64,
}

pub(crate) async fn run(settings: &Settings) -> anyhow::Result<()> {
    let rows = u64::from(RelayOptions::default().batch_size) * settings.passes;
    let (empty, full) = (Outbox::new(0).await?, Outbox::new(settings.sent).await?);
    let mut relays = Vec::new();
    for outbox in [&empty, &full] {
        outbox.add_pending(rows, rows).await?;
        outbox.settle().await?;
        relays.push(Relay::new(pool(&outbox.url)?, Arc::new(Nowhere), RelayOptions::default())?);
    }
    let mut times = [vec![], vec![]];
    for _ in 0..settings.passes {
        for (relay, times) in relays.iter_mut().zip(&mut times) {
            let started = Instant::now();
            let pass = relay.run_once().await?;
            anyhow::ensure!(matches!(pass, Pass::Moved { .. }), "{pass:?}");
            times.push(started.elapsed());
        }
    }
    let [without, with] = times.map(median);
    println!(
        "claim and mark 500 rows, median of {}: empty table {:.1} ms, {} sent rows {:.1} ms, ratio {:.2}",
        settings.passes,
        without.as_secs_f64() * 1000.0,
        settings.sent,
        with.as_secs_f64() * 1000.0,
        with.as_secs_f64() / without.as_secs_f64()
    );
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// A broker that confirms at once: what is left is the database's part.
struct Nowhere;

#[async_trait]
impl Transport for Nowhere {
    async fn publisher(&self) -> Result<Box<dyn Publisher>, TransportError> {
        Ok(Box::new(Self))
    }

    async fn consumer(&self, _: &str, _: u16) -> Result<Box<dyn Consumer>, TransportError> {
        Err(TransportError::SessionLost { reason: "nothing is kept".to_owned() })
    }

    async fn depths(&self) -> Result<Vec<QueueDepth>, TransportError> {
        Ok(vec![])
    }
}

#[async_trait]
impl Publisher for Nowhere {
    async fn publish(&self, messages: &[Message]) -> Published {
        Published { outcomes: vec![Outcome::Confirmed; messages.len()], lost: None }
    }

    async fn check(&self) -> Result<(), TransportError> {
        Ok(())
    }
}
