//! `/stock` and `/reservations`.

use std::collections::HashMap;

use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use contracts::{OrderId, Sku};
use sea_orm::DatabaseConnection;
use serde::{Deserialize, Serialize};
use service_kit::admin::AdminToken;
use service_kit::list::{Page, Parameters};
use service_kit::problem::FieldError;
use service_kit::server::in_background;
use service_kit::{Problem, json};

use crate::entity::stock_items;
use crate::stock::{self, ReservationView, SetStock};

/// More of one thing than any warehouse holds.
const MAX_ON_HAND: i64 = 1_000_000_000;

#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) db: DatabaseConnection,
    pub(crate) admin: AdminToken,
}

pub(crate) fn router(api: Api) -> Router {
    Router::new()
        .route("/stock", get(list_stock))
        .route("/stock/{sku}", get(show_stock).put(set_stock))
        .route("/reservations/{order_id}", get(show_reservation))
        .with_state(api)
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StockView {
    sku: Sku,
    on_hand: i64,
    reserved: i64,
    available: i64,
}

impl From<stock_items::Model> for StockView {
    fn from(item: stock_items::Model) -> Self {
        Self {
            available: item.available(),
            sku: item.sku,
            on_hand: item.on_hand,
            reserved: item.reserved,
        }
    }
}

async fn list_stock(
    State(api): State<Api>,
    Query(query): Query<HashMap<String, String>>,
) -> Result<Json<Page<StockView>>, Problem> {
    let parameters = Parameters(query);
    let limit = parameters.limit()?;
    let after = parameters.parse("cursor", "the nextCursor of an earlier answer")?;
    let items =
        in_background(async move { stock::list(&api.db, after, limit + 1).await }).await??;
    let views = items.into_iter().map(StockView::from).collect();
    Ok(Json(Page::new(views, limit, |item: &StockView| item.sku.to_string())))
}

async fn show_stock(
    State(api): State<Api>,
    Path(sku): Path<String>,
) -> Result<Json<StockView>, Problem> {
    let sku = parse_sku(&sku)?;
    let found = {
        let sku = sku.clone();
        in_background(async move { stock::find(&api.db, sku).await }).await??
    };
    let found = found.ok_or_else(|| Problem::not_found(format!("there is no SKU {sku}")))?;
    Ok(Json(found.into()))
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StockBody {
    on_hand: i64,
}

async fn set_stock(
    State(api): State<Api>,
    Path(sku): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    api.admin.check(request.headers())?;
    let sku = parse_sku(&sku)?;
    let StockBody { on_hand } = json::read(request).await?;
    if !(0..=MAX_ON_HAND).contains(&on_hand) {
        return Err(Problem::invalid(vec![FieldError {
            field: "onHand".to_owned(),
            message: format!("expected a whole number from 0 to {MAX_ON_HAND}"),
        }]));
    }
    match in_background(async move { stock::set(&api.db, sku, on_hand).await }).await?? {
        SetStock::Created(item) => {
            Ok((StatusCode::CREATED, Json(StockView::from(item))).into_response())
        }
        SetStock::Changed(item) => Ok(Json(StockView::from(item)).into_response()),
        SetStock::BelowReserved(reserved) => {
            Err(Problem::conflict(format!("{reserved} are reserved: onHand can't be less")))
        }
    }
}

async fn show_reservation(
    State(api): State<Api>,
    Path(order_id): Path<String>,
) -> Result<Json<ReservationView>, Problem> {
    let order_id: OrderId =
        order_id.parse().map_err(|error| Problem::bad_request(format!("order id: {error}")))?;
    let found = in_background(async move { stock::reservation(&api.db, order_id).await }).await??;
    let none = || Problem::not_found(format!("nothing is reserved for order {order_id}"));
    found.map(Json).ok_or_else(none)
}

fn parse_sku(text: &str) -> Result<Sku, Problem> {
    text.parse().map_err(|error| Problem::bad_request(format!("SKU: {error}")))
}
