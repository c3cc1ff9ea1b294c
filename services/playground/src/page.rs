//! The page and its own way to the services, so that it needs no other origin.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, put};
use service_kit::Problem;
use tokio_util::sync::CancellationToken;

use crate::guard::{Hosts, known_host};
use crate::guide;
use crate::live::Live;
use crate::services::{Owner, Services};

/// Nothing from elsewhere, nothing inline: what users typed can't become code.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// The page's files, by their paths under `web/`.
macro_rules! files {
    ($($path:literal),+ $(,)?) => {
        &[("/", include_str!("../web/index.html")), $(($path, include_str!(concat!("../web", $path)))),+]
    };
}

pub(crate) const FILES: &[(&str, &str)] = files![
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
    "/lab/damage.js",
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
    "/shop/refusal.js",
    "/shop/scene.js",
    "/shop/shop.js",
    "/shop/steady.js",
    "/shop/table-view.js",
    "/shop/tables.js",
    "/shop/timeline.js",
    "/shop/values.js",
    "/style.css",
];

/// The page, its stream and its calls. Changes are refused unless the page itself asks for them.
pub(crate) fn router(
    services: Services,
    live: Live,
    hosts: Hosts,
    shutdown: CancellationToken,
) -> Router {
    let api = Router::new()
        .route("/api/orders", any(to_orders))
        .route("/api/orders/{*path}", any(to_orders))
        .route("/api/stock", any(to_inventory))
        .route("/api/stock/{sku}", get(to_inventory))
        .with_state(services.clone());
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
        .merge(admin_calls(services).layer(from_fn_with_state(hosts, known_host)))
}

/// Dead and parked messages, and the stock: the page lends its token.
fn admin_calls(services: Services) -> Router {
    Router::new()
        .route("/api/stock/{sku}", put(set_stock))
        .route("/api/outbox/{owner}", any(to_outbox))
        .route("/api/outbox/{owner}/{*path}", any(to_outbox))
        .route("/api/parked/{owner}", any(to_parked))
        .route("/api/parked/{owner}/{*path}", any(to_parked))
        .with_state(services)
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

/// For every answer of the page's server, whoever's file it is.
pub(crate) async fn with_policy(mut response: Response) -> Response {
    response
        .headers_mut()
        .insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_SECURITY_POLICY));
    response
}

/// `/api/orders/…` becomes `/orders/…` of the service.
async fn to_orders(
    State(services): State<Services>,
    request: Request,
) -> Result<Response, Problem> {
    let path = after(&request, "/api");
    services.forward(&services.places.orders, &path, request).await
}

async fn to_inventory(
    State(services): State<Services>,
    request: Request,
) -> Result<Response, Problem> {
    let path = after(&request, "/api");
    services.forward(&services.places.inventory, &path, request).await
}

/// Without a token of its own the page passes the call on as it came.
async fn set_stock(
    State(services): State<Services>,
    request: Request,
) -> Result<Response, Problem> {
    let path = after(&request, "/api");
    match services.has_token() {
        true => services.forward_as_admin(&services.places.inventory, &path, request).await,
        false => services.forward(&services.places.inventory, &path, request).await,
    }
}

/// `/api/outbox/orders/…` becomes `/admin/outbox/…` of the relay of orders.
async fn to_outbox(
    State(services): State<Services>,
    request: Request,
) -> Result<Response, Problem> {
    let rest = after(&request, "/api/outbox/");
    let (owner, path) = owner_and_path(&rest)?;
    let relay = match owner {
        Owner::Orders => &services.places.orders_relay,
        Owner::Inventory => &services.places.inventory_relay,
    };
    services.forward_as_admin(relay, &format!("/admin/outbox{path}"), request).await
}

async fn to_parked(
    State(services): State<Services>,
    request: Request,
) -> Result<Response, Problem> {
    let rest = after(&request, "/api/parked/");
    let (owner, path) = owner_and_path(&rest)?;
    let service = match owner {
        Owner::Orders => &services.places.orders,
        Owner::Inventory => &services.places.inventory,
    };
    services.forward_as_admin(service, &format!("/admin/parked{path}"), request).await
}

fn owner_and_path(text: &str) -> Result<(Owner, &str), Problem> {
    let end = text.find(['/', '?']).unwrap_or(text.len());
    let (owner, path) = text.split_at(end);
    // A step upwards would lead to calls for which the token is not lent.
    if path.contains("..") || path.to_ascii_lowercase().contains("%2e") {
        return Err(Problem::not_found("there is no such path"));
    }
    Ok((owner.parse()?, path))
}

/// The path and query of a request, without its beginning.
fn after(request: &Request, beginning: &str) -> String {
    let path = request.uri().path_and_query().map_or("", |path| path.as_str());
    path.strip_prefix(beginning).unwrap_or(path).to_owned()
}
