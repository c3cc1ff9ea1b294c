//! The customer: wants orders, waits for answers, gives up, asks again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::StatusCode;
use serde_json::json;
use tokio::task::AbortHandle;

use crate::crew::Crew;
use crate::recorder::Recorder;
use crate::snapshot::SKU;
use crate::trace::Step;

/// A customer with a good memory.
pub(crate) struct Client {
    http: reqwest::Client,
    crew: Arc<Crew>,
    recorder: Arc<Recorder>,
    wishes: Arc<Mutex<BTreeMap<String, Wish>>>,
}

/// An order that the customer wants.
#[derive(Debug, Default)]
struct Wish {
    key: String,
    /// The request that is under way.
    asking: Option<AbortHandle>,
    /// The last answer.
    answer: Option<StatusCode>,
    cancelled: bool,
}

impl Client {
    pub(crate) fn new(crew: Arc<Crew>, recorder: Arc<Recorder>) -> Self {
        let http = reqwest::Client::new();
        Self { http, crew, recorder, wishes: Arc::default() }
    }

    /// Asks for an order, or asks again, and does not wait for the answer.
    pub(crate) async fn ask(&self, order: &str, what: &str) {
        let key = {
            let mut wishes = self.wishes();
            let wish = wishes.entry(order.to_owned()).or_insert_with(|| Wish {
                key: uuid::Uuid::now_v7().to_string(),
                ..Wish::default()
            });
            wish.answer = None;
            wish.key.clone()
        };
        self.note("request", order, Some(what), None).await;
        let Some(url) = self.crew.url("order-service").await else {
            return self.note("no-answer", order, Some(what), None).await;
        };
        let request = self
            .http
            .post(format!("{url}/orders"))
            .header("Idempotency-Key", key)
            .json(&json!({"customerId": "c-42", "lines": [{"sku": SKU, "quantity": 1}]}));
        let (wishes, recorder) = (self.wishes.clone(), self.recorder.clone());
        let (name, what) = (order.to_owned(), what.to_owned());
        let asking = tokio::spawn(async move {
            let answer = request.send().await.ok().map(|answer| answer.status());
            let kind = if answer.is_some() { "answer" } else { "no-answer" };
            recorder.record(kind, step(&name, Some(&what), answer)).await;
            let mut wishes = wishes.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(wish) = wishes.get_mut(&name) {
                (wish.answer, wish.asking) = (answer, None);
            }
        });
        if let Some(wish) = self.wishes().get_mut(order)
            && !asking.is_finished()
        {
            wish.asking = Some(asking.abort_handle());
        }
    }

    /// Closes the connection: the time is up.
    pub(crate) async fn give_up(&self, order: &str) {
        let asking = self.wishes().get_mut(order).and_then(|wish| wish.asking.take());
        if let Some(asking) = asking {
            asking.abort();
        }
        self.note("no-answer", order, Some("place"), None).await;
    }

    /// Wants an order undone.
    pub(crate) async fn cancel(&self, order: &str) {
        self.note("request", order, Some("cancel"), None).await;
        let (id, url) =
            (self.recorder.tables().order_id(order), self.crew.url("order-service").await);
        let (Some(id), Some(url)) = (id, url) else {
            return self.note("no-answer", order, Some("cancel"), None).await;
        };
        let answer = self.http.post(format!("{url}/orders/{id}/cancel")).send().await;
        let status = answer.ok().map(|answer| answer.status());
        if let Some(wish) = self.wishes().get_mut(order) {
            wish.cancelled = status.is_some_and(|status| status.is_success());
        }
        let kind = if status.is_some() { "answer" } else { "no-answer" };
        self.note(kind, order, Some("cancel"), status).await;
    }

    pub(crate) fn is_answered(&self, order: &str) -> bool {
        self.wishes().get(order).is_some_and(|wish| wish.answer.is_some())
    }

    pub(crate) fn waits(&self) -> bool {
        self.wishes().values().any(|wish| wish.asking.as_ref().is_some_and(|it| !it.is_finished()))
    }

    /// Orders that were wanted and not accepted, as far as the customer knows.
    pub(crate) fn unanswered(&self) -> Vec<String> {
        let accepted = |wish: &Wish| wish.answer.is_some_and(|status| status.is_success());
        let wishes = self.wishes();
        wishes.iter().filter(|(_, wish)| !accepted(wish)).map(|(order, _)| order.clone()).collect()
    }

    /// Orders that the customer wants still.
    pub(crate) fn wanted(&self) -> u64 {
        self.wishes().values().filter(|wish| !wish.cancelled).count() as u64
    }

    async fn note(&self, kind: &str, order: &str, what: Option<&str>, status: Option<StatusCode>) {
        self.recorder.record(kind, step(order, what, status)).await;
    }

    fn wishes(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Wish>> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn step(order: &str, what: Option<&str>, status: Option<StatusCode>) -> Step {
    Step {
        actor: "client".to_owned(),
        order: Some(order.to_owned()),
        what: what.map(str::to_owned),
        status: status.map(|status| status.as_u16()),
        ..Step::default()
    }
}
