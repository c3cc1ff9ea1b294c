//! `/lab/…`: calls that break a process, for learning and for tests. Without the feature `lab` there
//! are none.

/// No routes: this build has no lab.
#[cfg(not(feature = "lab"))]
pub fn router(_token: crate::admin::AdminToken) -> axum::Router {
    axum::Router::new()
}

#[cfg(feature = "lab")]
pub use calls::router;

#[cfg(feature = "lab")]
mod calls {
    use std::time::Duration;

    use axum::Router;
    use axum::extract::State;
    use axum::http::{HeaderMap, StatusCode};
    use axum::routing::post;

    use crate::Problem;
    use crate::admin::AdminToken;

    /// Time for the answer to leave.
    const DELAY: Duration = Duration::from_millis(50);

    /// `POST /lab/abort` ends the process, as a crash would: nothing is finished, nothing given back.
    pub fn router(token: AdminToken) -> Router {
        Router::new().route("/lab/abort", post(abort)).with_state(token)
    }

    async fn abort(
        State(token): State<AdminToken>,
        headers: HeaderMap,
    ) -> Result<StatusCode, Problem> {
        token.check(&headers)?;
        tracing::warn!("told to abort by /lab/abort");
        tokio::spawn(async {
            tokio::time::sleep(DELAY).await;
            std::process::abort();
        });
        Ok(StatusCode::ACCEPTED)
    }
}
