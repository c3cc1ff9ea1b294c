//! Measures the shop on real servers. Run it by `scripts/bench`: timings are noisy, so each figure
//! comes with what it is compared to, taken in the same run.

mod claim;
mod consumer;
mod lapin_alone;
mod latency;
mod relay;
mod table;
mod tap;

use clap::{Parser, Subcommand};

/// Measures the shop on real servers
#[derive(Debug, Parser)]
struct Bench {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// One relay, PostgreSQL to a quorum queue, beside lapin alone with 1000 messages in flight
    Relay(relay::Settings),
    /// From a commit in another session to the arrival in the queue, while nothing else happens
    Latency(latency::Settings),
    /// One inventory service, message by message and many at a time
    Consumer(consumer::Settings),
    /// Claim and mark, with and without many sent rows in the table
    Claim(claim::Settings),
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match Bench::parse().what {
        What::Relay(settings) => relay::run(&settings).await,
        What::Latency(settings) => latency::run(&settings).await,
        What::Consumer(settings) => consumer::run(&settings).await,
        What::Claim(settings) => claim::run(&settings).await,
    }
}
