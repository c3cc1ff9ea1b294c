//! Serving HTTP: one listener, the layers that every service has, and a clean end.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::http::{HeaderValue, Request, StatusCode, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::trace::TraceLayer;

use crate::Problem;

/// How long requests in hand may take after the signal to stop.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Takes the port, or says which one it could not take and why.
///
/// # Errors
/// The address is in use or not ours.
pub async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(listener),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => anyhow::bail!(
            "HTTP_ADDR {address}: port {} is in use; stop what listens there or choose another",
            address.port()
        ),
        Err(error) => Err(error).with_context(|| format!("HTTP_ADDR {address}")),
    }
}

/// Says where the service can be reached. With port 0 this is how one learns it.
pub fn announce(listener: &TcpListener, service: &str) {
    match listener.local_addr() {
        Ok(address) => tracing::info!("{service} listens on http://{address}"),
        Err(error) => tracing::warn!(%error, "{service} listens, but where?"),
    }
}

/// Serves until `shutdown`, then finishes what is in hand.
///
/// # Errors
/// The listener failed.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let server = axum::serve(listener, with_layers(router))
        .with_graceful_shutdown(shutdown.clone().cancelled_owned());
    let overdue = async {
        shutdown.cancelled().await;
        tokio::time::sleep(DRAIN_TIMEOUT).await;
    };
    tokio::select! {
        result = async { server.await } => result,
        () = overdue => {
            tracing::warn!("stopped with requests still open after {} s", DRAIN_TIMEOUT.as_secs());
            Ok(())
        }
    }
}

/// Runs database work in a task of its own. A client that goes away drops its handler's future; the
/// transaction inside must not be dropped with it.
///
/// # Errors
/// 500 when the work panicked.
pub async fn in_background<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, Problem> {
    tokio::spawn(work).await.map_err(|error| {
        tracing::error!(%error, "a request's task failed");
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR)
    })
}

/// The layers that every service has.
pub fn with_layers(router: Router) -> Router {
    router
        .layer(CatchPanicLayer::custom(|_| {
            tracing::error!("a request handler panicked");
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR).into_response()
        }))
        .layer(map_response(problem_for_plain_error))
        .layer(map_response(no_sniffing))
        // Failures are logged where they happen; a probe that finds us not ready is none.
        .layer(TraceLayer::new_for_http().on_failure(()).make_span_with(|request: &Request<_>| {
            tracing::debug_span!("http", method = %request.method(), path = request.uri().path())
        }))
}

/// Errors made by the framework (404, 405, a bad path) get the same form as our own, and keep
/// their headers (`Allow`).
async fn problem_for_plain_error(response: Response) -> Response {
    let status = response.status();
    let is_problem = response.headers().get(header::CONTENT_TYPE)
        == Some(&HeaderValue::from_static("application/problem+json"));
    if is_problem || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let is_json = response.headers().get(header::CONTENT_TYPE)
        == Some(&HeaderValue::from_static("application/json"));
    if is_json {
        return response; // a health report
    }
    let (mut parts, _) = response.into_parts();
    let problem = Problem::new(status).into_response();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts
        .headers
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    Response::from_parts(parts, problem.into_body())
}

async fn no_sniffing(mut response: Response) -> Response {
    response
        .headers_mut()
        .insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
