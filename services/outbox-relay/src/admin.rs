//! `/admin/outbox` and `/admin/stats`.

use std::collections::HashMap;
use std::time::Duration;

use axum::extract::{Path, Query, Request, State as Shared};
use axum::http::HeaderMap;
use axum::routing::{get, post};
use axum::{Json, Router};
use outbox::dead_letters::{
    ActionError, By, Details, Entry, Filter, Horizon, MessageKey, Retried, Run, Selection, State,
    Stats, discard, list, retry, retry_many, show, stats,
};
use outbox::{RelayTotals, Totals};
use sea_orm::DatabaseConnection;
use serde::{Deserialize, Serialize};
use service_kit::admin::{Actor, AdminToken, Before, DiscardBody, Why};
use service_kit::list::{Page, Parameters};
use service_kit::server::in_background;
use service_kit::{Problem, json};

/// What the calls work on.
#[derive(Clone)]
pub(crate) struct Admin {
    pub(crate) db: DatabaseConnection,
    pub(crate) token: AdminToken,
    pub(crate) inbox_retention: Duration,
    pub(crate) totals: RelayTotals,
}

pub(crate) fn router(admin: Admin) -> Router {
    Router::new()
        .route("/admin/outbox", get(list_messages))
        .route("/admin/outbox/retry", post(retry_selection))
        .route("/admin/outbox/{id}", get(show_message))
        .route("/admin/outbox/{id}/retry", post(retry_message))
        .route("/admin/outbox/{id}/discard", post(discard_message))
        .route("/admin/stats", get(show_stats))
        .with_state(admin)
}

impl Admin {
    fn horizon(&self, force: bool) -> Horizon {
        match force {
            true => Horizon::Forced,
            false => Horizon::Within(self.inbox_retention),
        }
    }

    fn caller(&self, headers: &HeaderMap) -> Result<Actor, Problem> {
        self.token.check(headers)?;
        Actor::of(headers)
    }
}

/// The answer to an action.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Acted {
    message_id: MessageKey,
    state: State,
}

async fn list_messages(
    Shared(admin): Shared<Admin>,
    headers: HeaderMap,
    Query(query): Query<HashMap<String, String>>,
) -> Result<Json<Page<Entry>>, Problem> {
    admin.token.check(&headers)?;
    let parameters = Parameters(query);
    let limit = parameters.limit()?;
    let filter = Filter {
        state: parameters.parse("state", "pending, sent, dead or discarded")?,
        kind: parameters.0.get("type").map(|kind| storable(kind)),
        cursor: parameters.parse("cursor", "the nextCursor of an earlier answer")?,
    };
    let found = in_background(async move { list(&admin.db, &filter, limit + 1).await }).await??;
    Ok(Json(Page::new(found, limit, |entry| entry.cursor.to_string())))
}

async fn show_message(
    Shared(admin): Shared<Admin>,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Result<Json<Details>, Problem> {
    admin.token.check(&headers)?;
    let id = message_id(&id)?;
    let key = id.clone();
    let found = in_background(async move { show(&admin.db, key).await }).await??;
    found.map(Json).ok_or_else(|| problem(ActionError::NotFound(id)))
}

/// How to retry one message; may be left out.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RetryBody {
    force: bool,
    reason: Option<Why>,
}

async fn retry_message(
    Shared(admin): Shared<Admin>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Json<Acted>, Problem> {
    let actor = admin.caller(request.headers())?;
    let message_id = message_id(&id)?;
    let RetryBody { force, reason } = json::read_or_default(request).await?;
    let (by, horizon) = (by(&actor, reason), admin.horizon(force));
    in_background({
        let key = message_id.clone();
        async move { retry(&admin.db, key, &by, horizon).await }
    })
    .await?
    .map_err(problem)?;
    Ok(Json(Acted { message_id, state: State::Pending }))
}

async fn discard_message(
    Shared(admin): Shared<Admin>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Json<Acted>, Problem> {
    let actor = admin.caller(request.headers())?;
    let message_id = message_id(&id)?;
    let DiscardBody { reason } = json::read(request).await?;
    in_background({
        let key = message_id.clone();
        async move { discard(&admin.db, key, actor.as_str(), reason.as_str()).await }
    })
    .await?
    .map_err(problem)?;
    Ok(Json(Acted { message_id, state: State::Discarded }))
}

/// Which messages to retry. Only dead ones can be.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct SelectionBody {
    #[serde(rename = "state")]
    _state: OnlyDead,
    #[serde(rename = "type")]
    kind: Option<String>,
    before: Option<Before>,
    reason: Option<Why>,
    force: bool,
    dry_run: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OnlyDead {
    #[default]
    Dead,
}

/// The answer to a retry of many.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SelectionRetried {
    dry_run: bool,
    #[serde(flatten)]
    retried: Retried,
}

async fn retry_selection(
    Shared(admin): Shared<Admin>,
    request: Request,
) -> Result<Json<SelectionRetried>, Problem> {
    let actor = admin.caller(request.headers())?;
    let body: SelectionBody = json::read(request).await?;
    let (by, horizon) = (by(&actor, body.reason), admin.horizon(body.force));
    let selection = Selection {
        kind: body.kind.as_deref().map(storable),
        before: body.before.map(|before| before.0),
    };
    let run = if body.dry_run { Run::Dry } else { Run::Real };
    let retried =
        in_background(async move { retry_many(&admin.db, &selection, &by, horizon, run).await })
            .await??;
    Ok(Json(SelectionRetried { dry_run: body.dry_run, retried }))
}

/// The outbox, which all its relays share, and what this one has done since it started.
#[derive(Debug, Serialize)]
struct Figures {
    #[serde(flatten)]
    outbox: Stats,
    relay: Totals,
}

async fn show_stats(
    Shared(admin): Shared<Admin>,
    headers: HeaderMap,
) -> Result<Json<Figures>, Problem> {
    admin.token.check(&headers)?;
    let relay = admin.totals.read();
    let outbox = in_background(async move { stats(&admin.db).await }).await??;
    Ok(Json(Figures { outbox, relay }))
}

fn message_id(text: &str) -> Result<MessageKey, Problem> {
    text.parse().map_err(|error| Problem::bad_request(format!("message id: {error}")))
}

fn by(actor: &Actor, reason: Option<Why>) -> By {
    By { actor: actor.as_str().to_owned(), reason: reason.map(String::from) }
}

/// PostgreSQL's text can't hold NUL; no type has one.
fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

fn problem(error: ActionError) -> Problem {
    match error {
        ActionError::NotFound(key) if !key.is_message_id() => {
            Problem::bad_request(format!("message id: {key} is no UUID, and no row has it"))
        }
        ActionError::NotFound(_) => Problem::not_found(error.to_string()),
        ActionError::NotDead { .. } | ActionError::TooOld { .. } => {
            Problem::conflict(error.to_string())
        }
        ActionError::Database(error) => error.into(),
    }
}
