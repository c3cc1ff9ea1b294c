//! `/health/live` and `/health/ready`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use database::Failure;
use futures_util::future::join_all;
use sea_orm::{ConnectionTrait, DatabaseConnection};
use serde::Serialize;
use tokio::sync::watch;
use transport::{Link, LinkState};

/// How long the database may take to answer a health check.
pub(crate) const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// The checks of one process.
#[derive(Default)]
pub struct Health {
    checks: Vec<Check>,
    was_ready: AtomicBool,
}

struct Check {
    name: &'static str,
    required: bool,
    source: Source,
}

enum Source {
    Link(watch::Receiver<LinkState>),
    Table { db: DatabaseConnection, table: &'static str, told: Mutex<Link> },
}

#[derive(Debug, Serialize)]
struct Report {
    status: &'static str,
    checks: BTreeMap<&'static str, String>,
}

impl Default for Report {
    fn default() -> Self {
        Self { status: "ok", checks: BTreeMap::new() }
    }
}

impl Health {
    /// The process is ready only while this link is up.
    #[must_use]
    pub fn requires_link(self, name: &'static str, link: watch::Receiver<LinkState>) -> Self {
        self.check(name, true, Source::Link(link))
    }

    /// This link is shown, and its loss degrades the process, but it stays ready.
    #[must_use]
    pub fn shows_link(self, name: &'static str, link: watch::Receiver<LinkState>) -> Self {
        self.check(name, false, Source::Link(link))
    }

    /// The process is ready only while this table can be read.
    #[must_use]
    pub fn requires_table(self, db: &DatabaseConnection, table: &'static str) -> Self {
        self.check("database", true, Source::table(db, table))
    }

    /// This table is shown, and its loss degrades the process, but it stays ready.
    #[must_use]
    pub fn shows_table(
        self,
        name: &'static str,
        db: &DatabaseConnection,
        table: &'static str,
    ) -> Self {
        self.check(name, false, Source::table(db, table))
    }

    fn check(mut self, name: &'static str, required: bool, source: Source) -> Self {
        self.checks.push(Check { name, required, source });
        self
    }

    /// The routes.
    pub fn router(self) -> Router {
        Router::new()
            .route("/health/live", get(async || Json(Report::default())))
            .route("/health/ready", get(ready))
            .with_state(Arc::new(self))
    }
}

async fn ready(State(health): State<Arc<Health>>) -> Response {
    let (mut ready, mut all_ok) = (true, true);
    let mut checks = BTreeMap::new();
    // At once: the time-outs of several databases don't add up.
    let states = join_all(health.checks.iter().map(|check| check.source.state())).await;
    for (check, state) in health.checks.iter().zip(states) {
        let ok = state == "ok";
        all_ok &= ok;
        ready &= ok || !check.required;
        checks.insert(check.name, state);
    }
    let was_ready = health.was_ready.fetch_or(ready, Ordering::Relaxed);
    let status = match (ready, all_ok) {
        (true, true) => "ok",
        (false, _) if !was_ready => "starting",
        _ => "degraded",
    };
    let code = match ready {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    (code, Json(Report { status, checks })).into_response()
}

impl Source {
    fn table(db: &DatabaseConnection, table: &'static str) -> Self {
        Self::Table { db: db.clone(), table, told: Mutex::new(Link::new("database for HTTP")) }
    }

    async fn state(&self) -> String {
        match self {
            // Its owner is gone, and with it whoever would have told of an outage.
            Self::Link(link) if link.has_changed().is_err() => "has ended".to_owned(),
            Self::Link(link) => match &*link.borrow() {
                LinkState::Up => "ok".to_owned(),
                LinkState::Unknown => "not connected yet".to_owned(),
                LinkState::Down(reason) => reason.clone(),
            },
            Self::Table { db, table, told } => {
                let state = table_state(db.clone(), table).await;
                tell(told, &state);
                state
            }
        }
    }
}

/// Requests meet the database's errors and answer 503 without a line each. Whoever starts the process
/// with a wrong password learns why from here.
fn tell(link: &Mutex<Link>, state: &str) {
    let mut link = link.lock().unwrap_or_else(PoisonError::into_inner);
    match state {
        "ok" => link.up(),
        reason => link.down(&reason),
    }
}

async fn table_state(db: DatabaseConnection, table: &'static str) -> String {
    // In a task of its own: a time-out must not drop a query in the middle.
    let query = tokio::spawn(async move {
        db.execute_unprepared(&format!("SELECT 1 FROM {table} LIMIT 0")).await
    });
    match tokio::time::timeout(CHECK_TIMEOUT, query).await {
        Ok(Ok(Ok(_))) => "ok".to_owned(),
        Ok(Ok(Err(error))) if Failure::of(&error) == Failure::SchemaMissing => {
            format!("table {table} is missing: run the migrations")
        }
        Ok(Ok(Err(error))) => error.to_string(),
        Ok(Err(_)) | Err(_) => format!("no answer within {} s", CHECK_TIMEOUT.as_secs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_link_whose_owner_is_gone_is_not_ok() {
        let mut link = Link::new("broker");
        let source = Source::Link(link.watch());
        link.up();
        assert_eq!(source.state().await, "ok");
        drop(link);
        assert_eq!(source.state().await, "has ended");
    }
}
