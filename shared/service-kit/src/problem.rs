//! Errors as `application/problem+json` (RFC 9457).

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use database::Failure;
use sea_orm::DbErr;
use serde::Serialize;

/// An error that a client gets to see: never internal text, always what to do.
#[derive(Debug, Clone, Serialize)]
pub struct Problem {
    #[serde(rename = "type")]
    kind: &'static str,
    title: String,
    #[serde(serialize_with = "status_code")]
    status: StatusCode,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FieldError>,
    #[serde(skip)]
    advice: Option<Advice>,
}

/// What a client should do, said in a header.
#[derive(Debug, Clone, Copy)]
enum Advice {
    /// Come again after so many seconds.
    RetryAfter(u32),
    /// Say who you are, by this scheme.
    Challenge(&'static str),
}

/// One field of the request that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldError {
    /// Where, such as `lines[1].quantity`.
    pub field: String,
    /// Which rule.
    pub message: String,
}

impl Problem {
    /// A problem with the status's own title.
    #[must_use]
    pub fn new(status: StatusCode) -> Self {
        Self {
            kind: "about:blank",
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            status,
            detail: None,
            errors: Vec::new(),
            advice: None,
        }
    }

    /// Its status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// One sentence about this very case.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Tells the client when to come again.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.advice = Some(Advice::RetryAfter(seconds));
        self
    }

    /// Tells the client how to say who it is.
    #[must_use]
    pub fn challenge(mut self, scheme: &'static str) -> Self {
        self.advice = Some(Advice::Challenge(scheme));
        self
    }

    /// 400: the request can't be read.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST).detail(detail)
    }

    /// 404: there is no such thing.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND).detail(detail)
    }

    /// 409: not in its present state.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT).detail(detail)
    }

    /// 422: it can be read and breaks rules.
    #[must_use]
    pub fn invalid(errors: Vec<FieldError>) -> Self {
        let mut problem = Self::new(StatusCode::UNPROCESSABLE_ENTITY);
        problem.detail = errors.first().map(|error| format!("{}: {}", error.field, error.message));
        problem.errors = errors;
        problem
    }
}

/// What a client may know of a database error: whether it is worth trying again.
impl From<DbErr> for Problem {
    fn from(error: DbErr) -> Self {
        match Failure::of(&error) {
            Failure::Unavailable | Failure::Contention | Failure::SchemaMissing => {
                tracing::debug!(%error, "database not available for a request");
                Self::new(StatusCode::SERVICE_UNAVAILABLE)
                    .detail("the database is not available; try again, a change with the same Idempotency-Key")
                    .retry_after(1)
            }
            Failure::Duplicate | Failure::Permanent => {
                tracing::error!(%error, "request failed");
                Self::new(StatusCode::INTERNAL_SERVER_ERROR)
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(&self)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        match self.advice {
            Some(Advice::RetryAfter(seconds)) => {
                headers.insert(header::RETRY_AFTER, seconds.into());
            }
            Some(Advice::Challenge(scheme)) => {
                let challenge = HeaderValue::from_static(scheme);
                headers.insert(header::WWW_AUTHENTICATE, challenge);
            }
            None => {}
        }
        response
    }
}

fn status_code<S: serde::Serializer>(status: &StatusCode, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_u16(status.as_u16())
}
