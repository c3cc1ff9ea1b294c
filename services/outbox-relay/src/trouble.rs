//! `/lab/…` of the relay, for learning and for tests: messages that no healthy relay publishes.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use outbox::dead_letters::MessageKey;
use outbox::{RelayOptions, message_of};
use sea_orm::DatabaseConnection;
use service_kit::Problem;
use service_kit::admin::AdminToken;
use service_kit::server::in_background;
use transport::{Headers, Message, MessageId, Outcome, Properties, Transport};

/// What the calls work on.
#[derive(Clone)]
pub(crate) struct Trouble {
    pub(crate) db: DatabaseConnection,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) options: RelayOptions,
    pub(crate) token: AdminToken,
}

pub(crate) fn router(trouble: Trouble) -> Router {
    Router::new()
        .route("/lab/messages/{id}/publish-again", post(publish_again))
        .route("/lab/poison", post(poison))
        .with_state(trouble)
}

/// Publishes a message of the outbox once more, whatever its state. Its row stays as it is.
async fn publish_again(
    State(trouble): State<Trouble>,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    trouble.token.check(&headers)?;
    let key: MessageKey =
        id.parse().map_err(|error| Problem::bad_request(format!("message id: {error}")))?;
    in_background(async move {
        let message = message_of(&trouble.db, &key, &trouble.options).await?;
        let message = message.ok_or_else(|| Problem::not_found(format!("no message {key}")))?;
        publish(&*trouble.transport, message).await
    })
    .await?
}

/// Publishes a message that says it is an order and is no JSON.
async fn poison(State(trouble): State<Trouble>, headers: HeaderMap) -> Result<StatusCode, Problem> {
    trouble.token.check(&headers)?;
    let kind = "OrderPlaced";
    let message = Message {
        routing_key: (trouble.options.routing_key)(kind),
        properties: Properties {
            message_id: Some(MessageId::generate().to_string()),
            kind: Some(kind.to_owned()),
            content_type: Some("application/json".to_owned()),
            app_id: Some("lab".to_owned()),
            ..Properties::default()
        },
        headers: Headers::from([("schema-version".to_owned(), 1.into())]),
        body: b"{\"orderId\": poison".to_vec(),
    };
    in_background(async move { publish(&*trouble.transport, message).await }).await?
}

/// On a session of its own: that of the relay's loop is none of our business.
async fn publish(transport: &dyn Transport, message: Message) -> Result<StatusCode, Problem> {
    let away = |reason: String| Problem::new(StatusCode::SERVICE_UNAVAILABLE).detail(reason);
    let publisher = transport.publisher().await.map_err(|error| away(error.one_line()))?;
    let published = publisher.publish(&[message]).await;
    match (published.outcomes.as_slice(), published.lost) {
        ([Outcome::Confirmed], _) => Ok(StatusCode::ACCEPTED),
        (_, Some(error)) => Err(away(error.one_line())),
        (outcomes, None) => Err(away(format!("the broker did not take it: {outcomes:?}"))),
    }
}
