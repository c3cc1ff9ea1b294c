//! The page and its own way to the services, so that it needs no other origin.

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use service_kit::Problem;
use tokio_util::sync::CancellationToken;

use crate::guide;
use crate::live::Live;
use crate::service_url::ServiceUrl;

/// Nothing from elsewhere, nothing inline: what users typed can't become code.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Headers that belong to one connection and are not passed on (RFC 9110, 7.6.1).
const HOP_BY_HOP: [&str; 4] = ["connection", "transfer-encoding", "host", "content-length"];

/// The page's files, by their paths under `web/`.
macro_rules! files {
    ($($path:literal),+ $(,)?) => {
        &[("/", include_str!("../web/index.html")), $(($path, include_str!(concat!("../web", $path)))),+]
    };
}

const FILES: &[(&str, &str)] = files![
    "/app.js",
    "/guide.css",
    "/guide/chapter.js",
    "/guide/contents.js",
    "/guide/experiment.js",
    "/guide/guide.js",
    "/i18n/en/guide.js",
    "/i18n/en/lab.js",
    "/i18n/en/pipeline.js",
    "/i18n/en/shell.js",
    "/i18n/en/shop.js",
    "/i18n/fa/guide.js",
    "/i18n/fa/lab.js",
    "/i18n/fa/pipeline.js",
    "/i18n/fa/shell.js",
    "/i18n/fa/shop.js",
    "/i18n/i18n.js",
    "/lab.css",
    "/lab/arrows.js",
    "/lab/choice.js",
    "/lab/flat.js",
    "/lab/lab.js",
    "/lab/matrix.js",
    "/lab/parts.js",
    "/lab/replay.js",
    "/lab/result.js",
    "/lab/sequence.js",
    "/lab/server.js",
    "/lab/setup.js",
    "/lab/source.js",
    "/lab/steps.js",
    "/pipeline/brackets.js",
    "/pipeline/cards.js",
    "/pipeline/changes.js",
    "/pipeline/counters.js",
    "/pipeline/frame.js",
    "/pipeline/layout.js",
    "/pipeline/measures.js",
    "/pipeline/pipeline.css",
    "/pipeline/pipeline.js",
    "/pipeline/rows.js",
    "/pipeline/scene.js",
    "/pipeline/svg.js",
    "/pipeline/tall.js",
    "/pipeline/travel.js",
    "/pipeline/wide.js",
    "/pipeline/words.js",
    "/shell/announce.js",
    "/shell/hash.js",
    "/shell/shell.js",
    "/shell/style-sheet.js",
    "/shop.css",
    "/shop/api.js",
    "/shop/connection.js",
    "/shop/controls.js",
    "/shop/element.js",
    "/shop/intro.js",
    "/shop/letters.js",
    "/shop/live.js",
    "/shop/order-form.js",
    "/shop/order-lines.js",
    "/shop/recorded.js",
    "/shop/scene.js",
    "/shop/shop.js",
    "/shop/steady.js",
    "/shop/table-view.js",
    "/shop/tables.js",
    "/shop/timeline.js",
    "/shop/values.js",
    "/style.css",
];

/// The services whose calls the page passes on.
#[derive(Clone)]
pub(crate) struct Services {
    client: reqwest::Client,
    orders: ServiceUrl,
    inventory: ServiceUrl,
}

impl Services {
    pub(crate) fn new(orders: &ServiceUrl, inventory: &ServiceUrl) -> Self {
        let client = reqwest::Client::new();
        Self { client, orders: orders.clone(), inventory: inventory.clone() }
    }
}

pub(crate) fn router(services: Services, live: Live, shutdown: CancellationToken) -> Router {
    let api = Router::new()
        .route("/api/orders", any(to_orders))
        .route("/api/orders/{*path}", any(to_orders))
        .route("/api/stock", any(to_inventory))
        .route("/api/stock/{*path}", any(to_inventory))
        .with_state(services);
    let mut pages = Router::new();
    for (path, text) in FILES {
        pages = pages.route(path, get(async || file(path, text)));
    }
    for chapter in guide::files() {
        let route = format!("/{}", chapter.path);
        pages =
            pages.route(&route, get(async move || text(chapter.media_type, chapter.text.clone())));
    }
    pages
        .route("/api/live", get(async move || live.clone().stream(shutdown.clone())))
        .merge(api)
        .layer(map_response(with_policy))
}

fn file(path: &str, text: &'static str) -> impl IntoResponse + use<> {
    let media_type = match path.rsplit_once('.') {
        Some((_, "js")) => "text/javascript; charset=utf-8",
        Some((_, "css")) => "text/css; charset=utf-8",
        _ => "text/html; charset=utf-8",
    };
    self::text(media_type, text)
}

fn text<T: IntoResponse>(media_type: &'static str, text: T) -> impl IntoResponse + use<T> {
    ([(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, "no-cache")], text)
}

async fn with_policy(mut response: Response) -> Response {
    response
        .headers_mut()
        .insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_SECURITY_POLICY));
    response
}

async fn to_orders(
    State(services): State<Services>,
    request: Request,
) -> Result<Response, Problem> {
    forward(&services.client, &services.orders, request).await
}

async fn to_inventory(
    State(services): State<Services>,
    request: Request,
) -> Result<Response, Problem> {
    forward(&services.client, &services.inventory, request).await
}

/// `/api/orders/…` becomes `/orders/…` of the service.
async fn forward(
    client: &reqwest::Client,
    base: &ServiceUrl,
    request: Request,
) -> Result<Response, Problem> {
    let path = request.uri().path_and_query().map_or("", |path| path.as_str());
    let url = format!("{base}{}", path.strip_prefix("/api").unwrap_or(path));
    let (parts, body) = request.into_parts();
    let mut forwarded = client.request(parts.method, url);
    for (name, value) in &parts.headers {
        if !is_hop_by_hop(name) {
            forwarded = forwarded.header(name, value);
        }
    }
    let body = reqwest::Body::wrap_stream(body.into_data_stream());
    let answer = forwarded.body(body).send().await.map_err(|_| {
        Problem::new(StatusCode::BAD_GATEWAY)
            .detail("the service does not answer; try again in a moment")
    })?;
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

fn is_hop_by_hop(name: &HeaderName) -> bool {
    HOP_BY_HOP.contains(&name.as_str())
}
