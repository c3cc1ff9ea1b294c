//! Somebody else's service that sends text messages: the world outside of every database. It knows an
//! idempotency key when it sees one.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use axum::extract::State as Shared;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::{Json, Router};
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::recorder::Recorder;
use crate::snapshot::Tables;
use crate::trace::{Step, TextMessage};

/// What was sent to customers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts(Arc<Mutex<Sent>>);

#[derive(Debug, Default)]
struct Sent {
    orders: Vec<String>,
    keys: HashSet<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Call {
    order_id: String,
}

#[derive(Clone)]
struct Gateway {
    texts: Texts,
    recorder: Arc<OnceLock<Arc<Recorder>>>,
}

impl Texts {
    /// Sends it, unless the key is known.
    fn send(&self, order_id: String, key: Option<&str>) -> bool {
        let mut sent = self.sent();
        if let Some(key) = key
            && !sent.keys.insert(key.to_owned())
        {
            return false;
        }
        sent.orders.push(order_id);
        true
    }

    pub(crate) fn state(&self, tables: &Tables) -> Vec<TextMessage> {
        let mut messages: Vec<TextMessage> = vec![];
        for order_id in &self.sent().orders {
            let order = tables.order(order_id);
            match messages.iter_mut().find(|message| message.order == order) {
                Some(message) => message.times += 1,
                None => messages.push(TextMessage { order, times: 1 }),
            }
        }
        messages
    }

    fn sent(&self) -> std::sync::MutexGuard<'_, Sent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Listens until the set is dropped. It needs the recorder only once somebody calls.
pub(crate) async fn open(
    texts: &Texts,
    recorder: &Arc<OnceLock<Arc<Recorder>>>,
) -> std::io::Result<(String, JoinSet<()>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/messages", listener.local_addr()?);
    let gateway = Gateway { texts: texts.clone(), recorder: recorder.clone() };
    let router = Router::new().route("/messages", post(receive)).with_state(gateway);
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let _ = axum::serve(listener, router).await;
    });
    Ok((url, serving))
}

async fn receive(
    Shared(gateway): Shared<Gateway>,
    headers: HeaderMap,
    Json(call): Json<Call>,
) -> StatusCode {
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok());
    let sent = gateway.texts.send(call.order_id.clone(), key);
    if let Some(recorder) = gateway.recorder.get() {
        let order = Some(recorder.tables().order(&call.order_id));
        let step = Step { actor: "text-gateway".to_owned(), order, ..Step::default() };
        recorder.record(if sent { "text-message" } else { "refused-copy" }, step).await;
    }
    StatusCode::NO_CONTENT
}
