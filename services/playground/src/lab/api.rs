//! The lab's calls.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::{Stream, StreamExt, stream};
use lab::{EmbeddedSites, Experiment, Lab, Sites, Trace};
use serde::Deserialize;
use service_kit::{Problem, json};
use tokio::sync::Semaphore;
use tokio_stream::wrappers::BroadcastStream;
use tokio_util::sync::CancellationToken;

use super::board::Board;
use super::definition::Definition;
use super::sources;

/// Experiments that may wait, the one under way included.
const WAITING: usize = 5;

#[derive(Clone)]
struct Api {
    lab: Lab,
    sites: Arc<dyn Sites>,
    board: Board,
    /// One experiment after the other: each has both cores.
    one: Arc<Semaphore>,
    /// Places for those who wait for their turn.
    waiting: Arc<Semaphore>,
    shutdown: CancellationToken,
}

/// Everything of the lab that is not a file of the page.
pub(crate) fn router(lab: Lab, shutdown: CancellationToken) -> Router {
    let api = Api {
        lab,
        sites: Arc::new(EmbeddedSites::default()),
        board: Board::new(),
        one: Arc::new(Semaphore::new(1)),
        waiting: Arc::new(Semaphore::new(WAITING)),
        shutdown,
    };
    Router::new()
        .route("/lab.json", get(async || Json(Definition::live())))
        .route("/api/lab/runs", post(run))
        .route("/api/lab/matrix", post(run_all).delete(stop))
        .route("/api/lab/matrix/events", get(events))
        .route("/traces/{row}/{file}", get(trace))
        .route("/source/{*path}", get(source))
        .with_state(api)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    mistakes: Vec<String>,
    failure: String,
}

async fn run(State(api): State<Api>, request: Request) -> Result<Json<Arc<Trace>>, Problem> {
    let wanted: Wanted = json::read(request).await?;
    let experiment = Experiment::new(&wanted.mistakes.join(","), &wanted.failure);
    let experiment = experiment.map_err(|error| {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY).detail(error.to_string())
    })?;
    let busy = || {
        let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE).retry_after(5);
        problem.detail("too many experiments wait for their turn; try again in a few seconds")
    };
    // A viewer who goes away while waiting gives the place back.
    let place = api.waiting.clone().try_acquire_owned().map_err(|_| busy())?;
    let turn = api.one.clone().acquire_owned().await.map_err(|_| busy())?;
    // In a task of its own: a viewer who goes away must not leave half of an experiment.
    let running = tokio::spawn(async move {
        let _until_the_end = (place, turn);
        let trace = api.lab.run(&*api.sites.fresh().await?, &experiment).await?;
        let trace = Arc::new(trace);
        api.board.note(&trace);
        anyhow::Ok(trace)
    });
    match running.await.map_err(anyhow::Error::from).flatten() {
        Ok(trace) => Ok(Json(trace)),
        Err(error) => {
            tracing::warn!("the experiment failed: {error:#}");
            let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE).retry_after(1);
            Err(problem.detail(format!("the experiment could not be made: {error}; try again")))
        }
    }
}

async fn run_all(State(api): State<Api>) -> Result<StatusCode, Problem> {
    match api.board.run_all(api.lab.clone(), api.sites.clone()) {
        true => Ok(StatusCode::ACCEPTED),
        false => Err(Problem::conflict("the matrix is being run already")),
    }
}

async fn stop(State(api): State<Api>) -> StatusCode {
    api.board.stop();
    StatusCode::ACCEPTED
}

async fn events(
    State(api): State<Api>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + use<>> {
    let (now, later) = api.board.watch();
    let board = api.board.clone();
    // Who has missed something gets everything again.
    let later =
        BroadcastStream::new(later).map(move |news| news.unwrap_or_else(|_| board.watch().0));
    let events = stream::iter([now]).chain(later).map(|news| Ok(Event::default().data(news)));
    Sse::new(events.take_until(api.shutdown.cancelled_owned())).keep_alive(KeepAlive::default())
}

async fn trace(
    State(api): State<Api>,
    Path((row, file)): Path<(String, String)>,
) -> Result<Json<Arc<Trace>>, Problem> {
    let failure = file.strip_suffix(".json").unwrap_or(&file);
    let trace = api.board.trace(&row, failure);
    trace.map(Json).ok_or_else(|| Problem::not_found("this cell has not been run yet"))
}

async fn source(Path(path): Path<String>) -> Result<Response, Problem> {
    let text = sources::source(&path);
    let text = text.ok_or_else(|| Problem::not_found(format!("no step points to {path:?}")))?;
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
}
