//! What sent rows cost a claim: nothing, or it is a bug.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use clap::Args;
use outbox::{Cleaner, Pass, Relay, RelayOptions, RetentionOptions};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use transport::{
    Consumer, Message, Outcome, Published, Publisher, QueueDepth, Transport, TransportError,
};

use crate::table::{Outbox, pool};

#[derive(Debug, Args)]
pub(crate) struct Settings {
    /// Sent rows in the second table; the first has none
    #[arg(long, default_value_t = 5_000_000)]
    sent: u64,
    /// Passes of one batch in each table, in turns
    #[arg(long, default_value_t = 100)]
    passes: usize,
    /// The same once more, while a cleaner removes the sent rows
    #[arg(long)]
    cleaner: bool,
}

pub(crate) async fn run(settings: &Settings) -> anyhow::Result<()> {
    let (empty, full) = (Outbox::new(0).await?, Outbox::new(settings.sent).await?);
    let [without, with] = passes([&empty, &full], settings.passes).await?;
    let sent = settings.sent;
    println!("claim and mark {} rows", RelayOptions::default().batch_size);
    println!("  empty table: {without}");
    println!("  {sent} sent rows: {with}, ratio {:.2}", with.ratio_to(&without));
    if settings.cleaner {
        let (stop, cleaning) = clean(&full)?;
        let [_, cleaned] = passes([&empty, &full], settings.passes).await?;
        anyhow::ensure!(!cleaning.is_finished(), "the cleaner had nothing left to do");
        stop.cancel();
        cleaning.await?;
        let removed = sent.saturating_sub(full.sent().await?);
        println!(
            "  {sent} sent rows and a cleaner that removed {removed} of them: {cleaned}, ratio {:.2}",
            cleaned.ratio_to(&without)
        );
    }
    Ok(())
}

/// A cleaner of all that was sent more than a second ago, with a pool as a process of its own has it.
fn clean(outbox: &Outbox) -> anyhow::Result<(CancellationToken, JoinHandle<()>)> {
    let options =
        RetentionOptions { retention: Duration::from_secs(1), ..RetentionOptions::default() };
    let cleaner = Cleaner::new(pool(&outbox.url)?, options)?;
    let stop = CancellationToken::new();
    Ok((stop.clone(), tokio::spawn(cleaner.run(stop))))
}

/// Fills both tables with rows that wait, and moves them by turns.
async fn passes(outboxes: [&Outbox; 2], passes: usize) -> anyhow::Result<[Times; 2]> {
    let rows = u64::from(RelayOptions::default().batch_size) * passes as u64;
    let mut relays = Vec::new();
    for outbox in outboxes {
        outbox.add_pending(rows, rows).await?;
        outbox.settle().await?;
        relays.push(Relay::new(pool(&outbox.url)?, Arc::new(Nowhere), RelayOptions::default())?);
    }
    let mut times = [vec![], vec![]];
    for _ in 0..passes {
        for (relay, times) in relays.iter_mut().zip(&mut times) {
            let started = Instant::now();
            let pass = relay.run_once().await?;
            anyhow::ensure!(matches!(pass, Pass::Moved { .. }), "{pass:?}");
            times.push(started.elapsed());
        }
    }
    Ok(times.map(Times::of))
}

/// How long the passes took.
struct Times {
    median: Duration,
    slowest: Duration,
    passes: usize,
}

impl Times {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let passes = times.len();
        let slowest = times.last().copied().unwrap_or_default();
        Self { median: times.get(passes / 2).copied().unwrap_or_default(), slowest, passes }
    }

    fn ratio_to(&self, other: &Self) -> f64 {
        self.median.as_secs_f64() / other.median.as_secs_f64()
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = |time: Duration| time.as_secs_f64() * 1000.0;
        let (median, slowest) = (millis(self.median), millis(self.slowest));
        write!(f, "median of {} {median:.1} ms, slowest {slowest:.1} ms", self.passes)
    }
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
