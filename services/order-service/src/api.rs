//! `/orders`.

use std::collections::HashMap;

use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use contracts::OrderId;
use database::HintSender;
use sea_orm::DatabaseConnection;
use serde::Serialize;
use service_kit::list::{Page, Parameters};
use service_kit::server::in_background;
use service_kit::{Problem, json, trace};

use crate::cancel_order::{CancelOrderError, cancel_order};
use crate::idempotency::IdempotencyKey;
use crate::new_order::{NewOrder, OrderBody};
use crate::order_view::{self, Filter, OrderView, Status};
use crate::place_order::{PlaceOrderError, place_order};

#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) db: DatabaseConnection,
    pub(crate) relays: HintSender,
}

pub(crate) fn router(api: Api) -> Router {
    Router::new()
        .route("/orders", post(place).get(list))
        .route("/orders/{id}", get(show))
        .route("/orders/{id}/cancel", post(cancel))
        .with_state(api)
}

/// The answer to a change that was accepted and takes effect in its own time.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Accepted {
    order_id: OrderId,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'static str>,
}

async fn place(State(api): State<Api>, request: Request) -> Result<Response, Problem> {
    let key = IdempotencyKey::of(request.headers())?;
    let trace = trace::of_request(request.headers());
    let body: OrderBody = json::read(request).await?;
    let order = NewOrder::try_from(body)?;
    let placed = in_background(async move {
        let placed = place_order(&api.db, &order, key.as_ref(), &trace).await?;
        api.relays.send();
        Ok::<_, PlaceOrderError>(placed)
    })
    .await??;
    let body = Json(Accepted {
        order_id: placed.order_id,
        status: Status::PendingPublish,
        message: Some("Order created successfully"),
    });
    let location = [(header::LOCATION, format!("/orders/{}", placed.order_id))];
    let mut response = (StatusCode::CREATED, location, body).into_response();
    if placed.replayed {
        let replayed = header::HeaderValue::from_static("true");
        response.headers_mut().insert("idempotent-replayed", replayed);
    }
    Ok(response)
}

async fn show(State(api): State<Api>, Path(id): Path<String>) -> Result<Json<OrderView>, Problem> {
    let id = order_id(&id)?;
    let order = in_background(async move { order_view::find(&api.db, id).await }).await??;
    order.map(Json).ok_or_else(|| no_order(id))
}

async fn list(
    State(api): State<Api>,
    Query(query): Query<HashMap<String, String>>,
) -> Result<Json<Page<OrderView>>, Problem> {
    let parameters = Parameters(query);
    let limit = parameters.limit()?;
    let filter = Filter {
        status: parameters.parse("status", "one of the statuses of an order")?,
        customer_id: parameters.0.get("customerId").map(|id| id.replace('\0', "\u{fffd}")),
        before: parameters.parse("cursor", "the nextCursor of an earlier answer")?,
    };
    let orders =
        in_background(async move { order_view::list(&api.db, filter, limit + 1).await }).await??;
    Ok(Json(Page::new(orders, limit, |order| order.order_id.to_string())))
}

async fn cancel(
    State(api): State<Api>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let id = order_id(&id)?;
    let trace = trace::of_request(&headers);
    in_background(async move {
        cancel_order(&api.db, id, &trace).await?;
        api.relays.send();
        Ok::<_, CancelOrderError>(())
    })
    .await??;
    let location = [(header::LOCATION, format!("/orders/{id}"))];
    let body = Json(Accepted { order_id: id, status: Status::Cancelling, message: None });
    Ok((StatusCode::ACCEPTED, location, body).into_response())
}

fn order_id(text: &str) -> Result<OrderId, Problem> {
    text.parse().map_err(|error| Problem::bad_request(format!("order id: {error}")))
}

fn no_order(id: OrderId) -> Problem {
    Problem::not_found(format!("there is no order {id}"))
}

impl From<PlaceOrderError> for Problem {
    fn from(error: PlaceOrderError) -> Self {
        match error {
            PlaceOrderError::KeyOfOtherOrder => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY).detail(error.to_string())
            }
            PlaceOrderError::KeyBusy => Self::conflict(error.to_string()).retry_after(1),
            PlaceOrderError::Database(error) => error.into(),
            PlaceOrderError::Json(error) => internal(&error),
        }
    }
}

impl From<CancelOrderError> for Problem {
    fn from(error: CancelOrderError) -> Self {
        match error {
            CancelOrderError::NotFound => Self::not_found(error.to_string()),
            CancelOrderError::NotCancellable(_) => Self::conflict(error.to_string()),
            CancelOrderError::Database(error) => error.into(),
            CancelOrderError::Json(error) => internal(&error),
        }
    }
}

fn internal(error: &serde_json::Error) -> Problem {
    tracing::error!(%error, "an event has no JSON form");
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR)
}
