//! `/metrics`: what a process has done and how it is, in the text format of OpenMetrics, which
//! Prometheus reads. No label has more values than a person can count.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::future::join_all;
use inbox::ConsumerCounts;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use tokio::sync::watch;
use transport::LinkState;

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What a process can tell about itself in numbers.
pub struct Metrics {
    /// What is written to as things happen.
    lasting: Registry,
    /// What is read when somebody asks.
    sources: Vec<Box<dyn Source>>,
}

/// Numbers that are read when somebody asks.
#[async_trait]
pub trait Source: Send + Sync + 'static {
    /// The numbers now. What can't be read now is left out.
    async fn samples(&self) -> Vec<Sample>;
}

/// One number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    name: &'static str,
    help: &'static str,
    value: Value,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Value {
    Counter(u64),
    Gauge(f64),
}

impl Sample {
    /// A number that only grows while the process lives. `name` is without its end, `_total`; `help`
    /// without its full stop.
    #[must_use]
    pub fn counter(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { name, help, value: Value::Counter(value) }
    }

    /// A number that goes up and down.
    #[must_use]
    pub fn gauge(name: &'static str, help: &'static str, value: f64) -> Self {
        Self { name, help, value: Value::Gauge(value) }
    }

    /// 1 for yes, 0 for no.
    #[must_use]
    pub fn yes_or_no(name: &'static str, help: &'static str, value: bool) -> Self {
        Self::gauge(name, help, f64::from(u8::from(value)))
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut lasting = Registry::default();
        let version = vec![("version", env!("CARGO_PKG_VERSION"))];
        lasting.register("build", "The program", Info::new(version));
        Self { lasting, sources: Vec::new() }
    }
}

impl Metrics {
    /// And these numbers.
    #[must_use]
    pub fn source(mut self, source: impl Source) -> Self {
        self.sources.push(Box::new(source));
        self
    }

    /// The route.
    pub fn router(self) -> Router {
        Router::new().route("/metrics", get(show)).with_state(Arc::new(self))
    }

    async fn text(&self) -> Result<String, fmt::Error> {
        let samples = join_all(self.sources.iter().map(|source| source.samples())).await;
        let mut samples = samples.concat();
        samples.extend(resident_memory());
        let mut now = Registry::default();
        now.register_collector(Box::new(Samples(samples)));
        let mut text = String::new();
        encode_registry(&mut text, &self.lasting)?;
        encode_registry(&mut text, &now)?;
        encode_eof(&mut text)?;
        Ok(text)
    }
}

/// Where the system tells it, which is Linux.
fn resident_memory() -> Option<Sample> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: f64 = kibibytes.trim_end_matches("kB").trim().parse().ok()?;
    let help = "Memory in use, without what is swapped out";
    Some(Sample::gauge("process_resident_memory_bytes", help, kibibytes * 1024.0))
}

async fn show(State(metrics): State<Arc<Metrics>>) -> Response {
    match metrics.text().await {
        Ok(text) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "metrics have no text");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

#[derive(Debug)]
struct Samples(Vec<Sample>);

impl Collector for Samples {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for Sample { name, help, value } in &self.0 {
            let metric: &dyn EncodeMetric = match value {
                Value::Counter(value) => &ConstCounter::new(*value),
                Value::Gauge(value) => &ConstGauge::new(*value),
            };
            let place = encoder.encode_descriptor(name, help, None, metric.metric_type())?;
            metric.encode(place)?;
        }
        Ok(())
    }
}

/// Whether broker and database can be reached.
#[derive(Debug, Clone)]
pub struct Links {
    /// The broker's session.
    pub broker: watch::Receiver<LinkState>,
    /// The database.
    pub database: watch::Receiver<LinkState>,
}

#[async_trait]
impl Source for Links {
    async fn samples(&self) -> Vec<Sample> {
        let up = |link: &watch::Receiver<LinkState>| *link.borrow() == LinkState::Up;
        vec![
            Sample::yes_or_no("broker_connected", "The broker can be reached", up(&self.broker)),
            Sample::yes_or_no(
                "database_connected",
                "The database could be reached when it was last needed",
                up(&self.database),
            ),
        ]
    }
}

#[async_trait]
impl Source for ConsumerCounts {
    async fn samples(&self) -> Vec<Sample> {
        let totals = self.totals();
        vec![
            Sample::counter(
                "inbox_processed",
                "Messages whose effect was committed",
                totals.processed,
            ),
            Sample::counter(
                "inbox_duplicates",
                "Deliveries whose effect was there already",
                totals.duplicates,
            ),
            Sample::counter(
                "inbox_stale",
                "Messages dropped since a later one about the same thing had taken effect",
                totals.stale,
            ),
            Sample::counter(
                "inbox_parked",
                "Messages that were parked, the broker's dead letters not among them",
                totals.parked,
            ),
            Sample::counter(
                "inbox_retried",
                "Failed tries that are followed by another one",
                totals.retried,
            ),
            Sample::counter(
                "inbox_gaps_given_up",
                "Messages handled although an earlier one had not come",
                totals.gaps_given_up,
            ),
        ]
    }
}
