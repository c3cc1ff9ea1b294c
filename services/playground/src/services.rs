//! The services and relays behind the page, and its way to them.

use std::str::FromStr;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Deserialize;
use service_kit::Problem;

use crate::service_url::ServiceUrl;

/// Headers that belong to one connection and are not passed on (RFC 9110, 7.6.1).
const HOP_BY_HOP: [&str; 4] = ["connection", "transfer-encoding", "host", "content-length"];

/// Above every time limit of a service. A frozen one must not keep a browser waiting for ever.
const SILENCE: Duration = Duration::from_secs(15);

/// Where they are.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    pub(crate) orders: ServiceUrl,
    pub(crate) inventory: ServiceUrl,
    pub(crate) orders_relay: ServiceUrl,
    pub(crate) inventory_relay: ServiceUrl,
}

impl Places {
    /// By the id of a process.
    pub(crate) fn of(&self, id: &str) -> Option<&ServiceUrl> {
        match id {
            "order-service" => Some(&self.orders),
            "inventory-service" => Some(&self.inventory),
            "orders-relay" => Some(&self.orders_relay),
            "inventory-relay" => Some(&self.inventory_relay),
            _ => None,
        }
    }
}

/// Whose outbox, or whose parked messages.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Owner {
    Orders,
    Inventory,
}

impl FromStr for Owner {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Self, Problem> {
        match text {
            "orders" => Ok(Self::Orders),
            "inventory" => Ok(Self::Inventory),
            _ => Err(Problem::not_found("expected orders or inventory")),
        }
    }
}

/// Calls of the services, with the token for administrative ones where the page has it.
#[derive(Clone)]
pub(crate) struct Services {
    client: reqwest::Client,
    pub(crate) places: Places,
    bearer: Option<HeaderValue>,
}

impl Services {
    pub(crate) fn new(places: Places, admin_token: Option<&str>) -> anyhow::Result<Self> {
        let client = reqwest::Client::builder().read_timeout(SILENCE).build()?;
        let token = admin_token.filter(|token| !token.is_empty());
        let bearer = token.map(|token| HeaderValue::from_str(&format!("Bearer {token}")));
        Ok(Self { client, places, bearer: bearer.transpose()? })
    }

    /// Whether it can make administrative calls.
    pub(crate) fn has_token(&self) -> bool {
        self.bearer.is_some()
    }

    /// Passes a request on to `path` of a service.
    pub(crate) async fn forward(
        &self,
        base: &ServiceUrl,
        path: &str,
        request: Request,
    ) -> Result<Response, Problem> {
        let (parts, body) = request.into_parts();
        let mut headers = parts.headers;
        for name in HOP_BY_HOP {
            headers.remove(name);
        }
        let forwarded = self.client.request(parts.method, format!("{base}{path}"));
        let body = reqwest::Body::wrap_stream(body.into_data_stream());
        let answer = forwarded.headers(headers).body(body).send().await.map_err(no_answer)?;
        let mut response = Response::builder().status(answer.status());
        for (name, value) in answer.headers() {
            if !is_hop_by_hop(name) {
                response = response.header(name, value);
            }
        }
        response
            .body(Body::from_stream(answer.bytes_stream()))
            .map_err(|_| Problem::new(StatusCode::BAD_GATEWAY))
    }

    /// The same for an administrative call: the page lends its token, and signs.
    pub(crate) async fn forward_as_admin(
        &self,
        base: &ServiceUrl,
        path: &str,
        mut request: Request,
    ) -> Result<Response, Problem> {
        self.sign(request.headers_mut())?;
        self.forward(base, path, request).await
    }

    /// Makes an administrative call that has no body and whose answer says only whether it worked.
    pub(crate) async fn tell(&self, base: &ServiceUrl, path: &str) -> Result<(), Problem> {
        let mut headers = HeaderMap::new();
        self.sign(&mut headers)?;
        let call = self.client.post(format!("{base}{path}")).headers(headers);
        let answer = call.send().await.map_err(no_answer)?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let said: Said = answer.json().await.unwrap_or_default();
        let problem = Problem::new(status);
        Err(said.detail.into_iter().fold(problem, Problem::detail))
    }

    /// Whether a service has calls that break it. Asked without the token: where there is such a call,
    /// the answer is that it takes one.
    pub(crate) async fn has_lab(&self, base: &ServiceUrl) -> bool {
        let answer = self.client.post(format!("{base}/lab/abort")).send().await;
        answer.is_ok_and(|answer| answer.status() == StatusCode::UNAUTHORIZED)
    }

    /// The text of a service's `/metrics`.
    pub(crate) async fn metrics(&self, base: &ServiceUrl) -> Option<String> {
        let request = self.client.get(format!("{base}/metrics")).timeout(Duration::from_secs(1));
        request.send().await.ok()?.text().await.ok()
    }

    fn sign(&self, headers: &mut HeaderMap) -> Result<(), Problem> {
        let bearer = self.bearer.clone().ok_or_else(|| {
            Problem::not_found("the page has no ADMIN_TOKEN, so it makes no administrative calls")
        })?;
        headers.insert(header::AUTHORIZATION, bearer);
        headers.insert("x-actor", HeaderValue::from_static("page"));
        Ok(())
    }
}

/// A problem of a service, as far as it is passed on.
#[derive(Debug, Default, Deserialize)]
struct Said {
    detail: Option<String>,
}

fn no_answer(_: reqwest::Error) -> Problem {
    Problem::new(StatusCode::BAD_GATEWAY)
        .detail("the service does not answer; try again in a moment")
}

fn is_hop_by_hop(name: &HeaderName) -> bool {
    HOP_BY_HOP.contains(&name.as_str())
}
