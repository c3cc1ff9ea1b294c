//! The order service as the lab runs it: the same API and the same consumer, and the mistakes that
//! `MISTAKES` names. Not in production builds.

mod no_idempotency_key;
mod publish_after_commit;
mod publish_before_commit;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use contracts::{Event, ORDER_AGGREGATE, OrderId, OrderPlaced, STOCK_EVENTS_QUEUE};
use inbox::Consumer;
use mistakes::direct::Envelope;
use mistakes::{Mistake, Mistakes, confirm_lost, mark_before_confirm, publish_without_mandatory};
use sea_orm::DatabaseConnection;
use serde_json::{Map, json as object};
use service_kit::health::Health;
use service_kit::server::in_background;
use service_kit::tasks::Tasks;
use service_kit::{Problem, json, program, server, telemetry, trace};
use transport::{Message, MessageId, Transport, TransportError};

use crate::idempotency::IdempotencyKey;
use crate::new_order::{NewOrder, OrderBody};
use crate::place_order::{PlaceOrderError, Placed, place_order};
use crate::{NAME, Settings, api, stock_results};

/// What placing an order with mistakes needs.
#[derive(Clone)]
struct Counter {
    db: DatabaseConnection,
    transport: Arc<dyn Transport>,
    relays: database::HintSender,
    mistakes: Mistakes,
}

/// Why an order was not placed.
#[derive(Debug, thiserror::Error)]
enum NotPlaced {
    #[error(transparent)]
    Order(#[from] PlaceOrderError),
    #[error("the message could not be published: {0}")]
    Broker(#[from] TransportError),
}

/// Runs the service until it is told to stop.
///
/// # Errors
/// A setting is invalid, or the port is taken.
pub async fn run(settings: Settings) -> anyhow::Result<()> {
    telemetry::start(&settings.log, NAME)?;
    let mistakes = Mistakes::from_environment()?;
    let shutdown = program::shutdown_token(&settings.life);
    let (db, consumer_db) = (settings.database.pool(NAME)?, settings.database.pool(NAME)?);
    let transport =
        settings.broker.transport(contracts::topology(), settings.broker.options(NAME))?;
    let listener = server::bind(settings.http_addr).await?;

    let options = settings.consumer.options(NAME, STOCK_EVENTS_QUEUE);
    let handler = Arc::new(stock_results::StockResults);
    let consumer = Consumer::new(consumer_db, transport.clone(), handler, options);
    let health = Health::default()
        .requires_table(&db, "orders")
        .requires_link("broker", consumer.health().broker);
    let relays = outbox::hint_sender(&db, shutdown.clone());
    let rest = api::router(api::Api { db: db.clone(), relays: relays.clone() });
    let transport = mistaken(transport, &mistakes);
    let counter = Counter { db, transport, relays, mistakes };
    let router = Router::new()
        .route("/orders", post(place).fallback_service(rest.clone()))
        .with_state(counter)
        .merge(health.router())
        .fallback_service(rest);

    let mut tasks = Tasks::new(shutdown.clone());
    tasks.start("consumer", consumer.run(shutdown.clone()));
    server::announce(&listener, NAME);
    tasks.beside(server::serve(listener, router, shutdown)).await
}

/// The way to the broker of a service that publishes by itself.
fn mistaken(mut transport: Arc<dyn Transport>, mistakes: &Mistakes) -> Arc<dyn Transport> {
    transport = confirm_lost::transport(transport);
    if mistakes.has(Mistake::PublishWithoutMandatory) {
        transport = publish_without_mandatory::transport(transport);
    }
    if mistakes.has(Mistake::MarkBeforeConfirm) {
        transport = mark_before_confirm::transport(transport);
    }
    transport
}

async fn place(
    State(counter): State<Counter>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Problem> {
    let key = IdempotencyKey::of(&headers)?;
    let key = match counter.mistakes.has(Mistake::NoIdempotencyKey) {
        true => no_idempotency_key::key_of(key),
        false => key,
    };
    let trace = trace::of_request(&headers);
    let body: OrderBody = json::read(request).await?;
    let order = NewOrder::try_from(body)?;
    let placed = in_background(async move {
        let Counter { db, transport, mistakes, .. } = &counter;
        let key = key.as_ref();
        let placed = if mistakes.has(Mistake::PublishAfterCommit) {
            publish_after_commit::place_order(db, transport, &order, key).await?
        } else if mistakes.has(Mistake::PublishBeforeCommit) {
            publish_before_commit::place_order(db, transport, &order, key).await?
        } else {
            place_order(db, &order, key, &trace).await?
        };
        counter.relays.send();
        Ok::<_, NotPlaced>(placed)
    })
    .await??;
    let Placed { order_id, .. } = placed;
    let location = [(header::LOCATION, format!("/orders/{order_id}"))];
    let body = Json(object!({ "orderId": order_id, "status": "PendingPublish" }));
    Ok((StatusCode::CREATED, location, body).into_response())
}

impl From<NotPlaced> for Problem {
    fn from(error: NotPlaced) -> Self {
        match error {
            NotPlaced::Order(error) => error.into(),
            NotPlaced::Broker(_) => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE).detail(error.to_string()).retry_after(1)
            }
        }
    }
}

/// The message that an outbox row would have held.
fn order_placed(order_id: OrderId, order: &NewOrder) -> Result<Message, serde_json::Error> {
    let event = OrderPlaced {
        order_id,
        customer_id: order.customer_id.clone(),
        lines: order.lines.clone(),
        placed_at: chrono::Utc::now(),
    };
    let envelope = Envelope {
        message_id: MessageId::generate().to_string(),
        kind: OrderPlaced::TYPE,
        aggregate_type: ORDER_AGGREGATE,
        aggregate_id: order_id.to_string(),
        aggregate_version: 1,
        app_id: NAME,
        headers: Map::new(),
        body: serde_json::to_string(&event)?,
    };
    Ok(envelope.into_message())
}
