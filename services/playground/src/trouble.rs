//! What people may do to the live shop to see that it holds: kill, freeze, stop the broker, send a
//! message twice, send one that nobody can read.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::post;
use service_kit::Problem;

use crate::broker::{Broker, BrokerControl, SwitchError};
use crate::process_view::{Control, Refusal};
use crate::service_url::ServiceUrl;
use crate::services::Services;
use crate::supervisor::Controls;

/// What the calls work on.
#[derive(Clone)]
pub(crate) struct Trouble {
    pub(crate) processes: Processes,
    pub(crate) broker: Broker,
    pub(crate) services: Services,
}

/// Whose the processes are.
#[derive(Clone)]
pub(crate) enum Processes {
    /// Ours.
    Children(Controls),
    /// Docker's or somebody else's: they can be asked to abort, and no more.
    Elsewhere,
}

pub(crate) fn router(trouble: Trouble) -> Router {
    Router::new()
        .route("/api/processes/{id}/{control}", post(control_process))
        .route("/api/broker/stop", post(stop_broker))
        .route("/api/broker/start", post(start_broker))
        .route("/api/messages/{id}/redeliver", post(redeliver))
        .route("/api/poison", post(poison))
        .with_state(trouble)
}

async fn control_process(
    State(trouble): State<Trouble>,
    Path((id, control)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let control: Control = control.parse().map_err(|_| unknown(&control))?;
    match &trouble.processes {
        Processes::Children(controls) => {
            let done = controls.ask(&id, control).await.ok_or_else(|| unknown(&id))?;
            done.map_err(refused)?;
            Ok(StatusCode::NO_CONTENT)
        }
        Processes::Elsewhere => {
            let place = trouble.services.places.of(&id).ok_or_else(|| unknown(&id))?;
            abort(&trouble.services, place, control).await
        }
    }
}

async fn abort(
    services: &Services,
    place: &ServiceUrl,
    control: Control,
) -> Result<StatusCode, Problem> {
    if control != Control::Kill {
        return Err(Problem::conflict(format!("the page can't {control} a process elsewhere")));
    }
    services.tell(place, "/lab/abort").await?;
    Ok(StatusCode::ACCEPTED)
}

async fn stop_broker(State(trouble): State<Trouble>) -> Result<StatusCode, Problem> {
    trouble.broker.switch(BrokerControl::Stop).await.map_err(not_switched)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn start_broker(State(trouble): State<Trouble>) -> Result<StatusCode, Problem> {
    trouble.broker.switch(BrokerControl::Start).await.map_err(not_switched)?;
    Ok(StatusCode::NO_CONTENT)
}

/// A message is in one of the two outboxes; its relay says whether it has it.
async fn redeliver(
    State(trouble): State<Trouble>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let id: transport::MessageId =
        id.parse().map_err(|error| Problem::bad_request(format!("message id: {error}")))?;
    let path = format!("/lab/messages/{id}/publish-again");
    let places = &trouble.services.places;
    match trouble.services.tell(&places.orders_relay, &path).await {
        Err(problem) if problem.status() == StatusCode::NOT_FOUND => {
            trouble.services.tell(&places.inventory_relay, &path).await?;
        }
        told => told?,
    }
    Ok(StatusCode::ACCEPTED)
}

async fn poison(State(trouble): State<Trouble>) -> Result<StatusCode, Problem> {
    trouble.services.tell(&trouble.services.places.orders_relay, "/lab/poison").await?;
    Ok(StatusCode::ACCEPTED)
}

fn unknown(name: &str) -> Problem {
    Problem::not_found(format!("there is no {name}"))
}

fn refused(refusal: Refusal) -> Problem {
    match refusal {
        Refusal::State { .. } => Problem::conflict(refusal.to_string()),
        Refusal::System { .. } | Refusal::Closing => {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE).detail(refusal.to_string())
        }
    }
}

fn not_switched(error: SwitchError) -> Problem {
    match error {
        SwitchError::NotHere { .. } | SwitchError::Already(_) => {
            Problem::conflict(error.to_string())
        }
        SwitchError::Failed(_) => {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE).detail(error.to_string())
        }
    }
}
