//! `/admin/parked`, for every service with an inbox.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Query, Request, State as Shared};
use axum::http::HeaderMap;
use axum::routing::{get, post};
use axum::{Json, Router};
use inbox::Handler;
use inbox::parked::{
    ActionError, By, Details, Entry, Filter, Horizon, Outcome, ParkedId, Replayer, Retried, Run,
    State, discard, list, show,
};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::{Actor, AdminToken, Before, DiscardBody, RetryBody, Why};
use crate::list::{Page, Parameters};
use crate::server::in_background;
use crate::{Problem, json};

struct Admin<H> {
    replayer: Replayer<H>,
    token: AdminToken,
    inbox_retention: Duration,
}

impl<H> Admin<H> {
    fn horizon(&self, force: bool) -> Horizon {
        match force {
            true => Horizon::Forced,
            false => Horizon::Within(self.inbox_retention),
        }
    }
}

/// The routes: list, show, retry and discard what the replayer's consumer has parked. What was
/// parked longer ago than the inbox remembers is retried only when forced.
pub fn parked_messages<H: Handler>(
    replayer: Replayer<H>,
    token: AdminToken,
    inbox_retention: Duration,
) -> Router {
    Router::new()
        .route("/admin/parked", get(list_parked::<H>))
        .route("/admin/parked/retry", post(retry_many::<H>))
        .route("/admin/parked/{id}", get(show_parked::<H>))
        .route("/admin/parked/{id}/retry", post(retry_one::<H>))
        .route("/admin/parked/{id}/discard", post(discard_one::<H>))
        .with_state(Arc::new(Admin { replayer, token, inbox_retention }))
}

/// The answer to an action.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Acted {
    parked_id: ParkedId,
    state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Outcome>,
}

async fn list_parked<H: Handler>(
    Shared(admin): Shared<Arc<Admin<H>>>,
    headers: HeaderMap,
    Query(query): Query<HashMap<String, String>>,
) -> Result<Json<Page<Entry>>, Problem> {
    admin.token.check(&headers)?;
    let parameters = Parameters(query);
    let limit = parameters.limit()?;
    let text = |name| parameters.0.get(name).map(|text: &String| text.replace('\0', "\u{fffd}"));
    let filter = Filter {
        consumer: text("consumer"),
        reason: parameters.parse("reason", "a reason for parking, such as handler_failed")?,
        state: parameters.parse("state", "parked, retried or discarded")?,
        kind: text("type"),
        before: None,
        cursor: parameters.parse("cursor", "the nextCursor of an earlier answer")?,
    };
    let found = in_background(async move { list(admin.replayer.db(), &filter, limit + 1).await });
    let cursor = |entry: &Entry| entry.parked_id.to_string();
    Ok(Json(Page::new(found.await??, limit, cursor)))
}

async fn show_parked<H: Handler>(
    Shared(admin): Shared<Arc<Admin<H>>>,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Result<Json<Details>, Problem> {
    admin.token.check(&headers)?;
    let id = parked_id(&id)?;
    let found = in_background(async move { show(admin.replayer.db(), id).await }).await??;
    found.map(Json).ok_or_else(|| ActionError::NotFound(id).into())
}

async fn retry_one<H: Handler>(
    Shared(admin): Shared<Arc<Admin<H>>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Json<Acted>, Problem> {
    let actor = caller(&admin.token, request.headers())?;
    let parked_id = parked_id(&id)?;
    let RetryBody { force, reason } = json::read_or_default(request).await?;
    let (by, horizon) = (by(actor, reason), admin.horizon(force));
    let outcome =
        in_background(async move { admin.replayer.retry(parked_id, &by, horizon).await }).await??;
    Ok(Json(Acted { parked_id, state: State::Retried, outcome: Some(outcome) }))
}

async fn discard_one<H: Handler>(
    Shared(admin): Shared<Arc<Admin<H>>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Json<Acted>, Problem> {
    let actor = caller(&admin.token, request.headers())?;
    let parked_id = parked_id(&id)?;
    let DiscardBody { reason } = json::read(request).await?;
    in_background(async move {
        discard(admin.replayer.db(), parked_id, actor.as_str(), reason.as_str()).await
    })
    .await??;
    Ok(Json(Acted { parked_id, state: State::Discarded, outcome: None }))
}

/// Which ones to retry. Only parked ones can be. `reason` is that of the parking, `why` the caller's.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Many {
    #[serde(rename = "state")]
    _state: OnlyParked,
    #[serde(deserialize_with = "from_text")]
    reason: Option<inbox::Reason>,
    #[serde(rename = "type")]
    kind: Option<String>,
    before: Option<Before>,
    why: Option<Why>,
    force: bool,
    dry_run: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OnlyParked {
    #[default]
    Parked,
}

fn from_text<'de, D: Deserializer<'de>>(text: D) -> Result<Option<inbox::Reason>, D::Error> {
    let text = Option::<String>::deserialize(text)?;
    text.map(|text| text.parse()).transpose().map_err(D::Error::custom)
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ManyRetried {
    dry_run: bool,
    #[serde(flatten)]
    retried: Retried,
}

async fn retry_many<H: Handler>(
    Shared(admin): Shared<Arc<Admin<H>>>,
    request: Request,
) -> Result<Json<ManyRetried>, Problem> {
    let actor = caller(&admin.token, request.headers())?;
    let many: Many = json::read(request).await?;
    let (by, horizon) = (by(actor, many.why), admin.horizon(many.force));
    let filter = Filter {
        reason: many.reason,
        kind: many.kind.map(|kind| kind.replace('\0', "\u{fffd}")),
        before: many.before.map(|before| before.0),
        ..Filter::default()
    };
    let run = if many.dry_run { Run::Dry } else { Run::Real };
    let retried =
        in_background(async move { admin.replayer.retry_many(filter, &by, horizon, run).await })
            .await??;
    Ok(Json(ManyRetried { dry_run: many.dry_run, retried }))
}

fn caller(token: &AdminToken, headers: &HeaderMap) -> Result<Actor, Problem> {
    token.check(headers)?;
    Actor::of(headers)
}

fn by(actor: Actor, reason: Option<Why>) -> By {
    By { actor: actor.as_str().to_owned(), reason: reason.map(String::from) }
}

fn parked_id(text: &str) -> Result<ParkedId, Problem> {
    text.parse().map_err(|error| Problem::bad_request(format!("parked id: {error}")))
}

impl From<ActionError> for Problem {
    fn from(error: ActionError) -> Self {
        match error {
            ActionError::NotFound(_) => Self::not_found(error.to_string()),
            ActionError::Database(error) => error.into(),
            ActionError::NotParked { .. }
            | ActionError::OtherConsumer { .. }
            | ActionError::TooOld { .. }
            | ActionError::StillFailing { .. } => Self::conflict(error.to_string()),
        }
    }
}
