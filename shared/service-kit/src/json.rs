//! Reading JSON bodies, with an answer for everything that a client can send.

use std::time::Duration;

use axum::body::HttpBody;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use serde::de::{DeserializeOwned, IgnoredAny};
use strict_json::Object;

use crate::Problem;
use crate::problem::FieldError;

/// The largest body that is read, in bytes.
pub const MAX_BODY: usize = 64 * 1024;

/// How long a body may take to arrive.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads the body, a JSON object, as `T`.
///
/// # Errors
/// 415 when it is not declared as JSON, 413 and 408 by the limits, 400 when it is not JSON, and 422
/// naming the field when it is JSON but not a `T`.
pub async fn read<T: DeserializeOwned>(request: Request) -> Result<T, Problem> {
    expect_json(&request)?;
    let body = axum::body::to_bytes(request.into_body(), MAX_BODY);
    match tokio::time::timeout(BODY_TIMEOUT, body).await {
        Err(_) => Err(Problem::new(StatusCode::REQUEST_TIMEOUT)
            .detail(format!("the body did not arrive within {} s", BODY_TIMEOUT.as_secs()))),
        Ok(Err(error)) if is_length_limit(&error) => {
            Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE)
                .detail(format!("the body is larger than {MAX_BODY} bytes")))
        }
        Ok(Err(_)) => Err(Problem::bad_request("the body broke off")),
        Ok(Ok(body)) => parse(&body),
    }
}

/// The same of a body that may be left out: nothing stands for `T`'s default.
///
/// # Errors
/// As [`read`], when there is a body.
pub async fn read_or_default<T: DeserializeOwned + Default>(
    request: Request,
) -> Result<T, Problem> {
    match request.body().is_end_stream() {
        true => Ok(T::default()),
        false => read(request).await,
    }
}

/// Reads the bytes of a JSON object as `T`.
///
/// # Errors
/// 400 when they are not JSON, and 422 naming the field when they are JSON but not a `T`.
pub fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let text = std::str::from_utf8(body)
        .map_err(|error| Problem::bad_request(format!("the body is not UTF-8: {error}")))?;
    // First the grammar alone: what is JSON but out of some range (1e400, a lone surrogate) is the
    // field's fault and not the document's.
    serde_json::from_str::<IgnoredAny>(text)
        .map_err(|error| Problem::bad_request(format!("the body is not JSON: {error}")))?;
    let deserializer = &mut serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(deserializer)
        .map(|Object(value)| value)
        .map_err(|error| Problem::invalid(vec![field_error(&error)]))
}

fn expect_json(request: &Request) -> Result<(), Problem> {
    let content_type = request.headers().get(header::CONTENT_TYPE);
    let media_type = content_type
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .map(|value| value.trim().to_ascii_lowercase());
    match media_type.as_deref() {
        Some("application/json") => Ok(()),
        Some(other) if other.starts_with("application/") && other.ends_with("+json") => Ok(()),
        _ => Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE)
            .detail("expected Content-Type: application/json")),
    }
}

fn is_length_limit(error: &axum::Error) -> bool {
    // axum hides the type; its text is the documented one of http-body-util's LengthLimitError.
    error.to_string().contains("length limit exceeded")
}

fn field_error(error: &serde_path_to_error::Error<serde_json::Error>) -> FieldError {
    let text = error.inner().to_string();
    // "… at line 1 column 20": the path says it better.
    let message = text.split(" at line ").next().unwrap_or(&text);
    // Clients know no Rust.
    let message = message.replace("expected i64", "expected a whole number");
    let path = error.path().to_string();
    let field = match named_field(&message) {
        Some(name) if path == "." => name.to_owned(),
        Some(name) => format!("{path}.{name}"),
        None => path,
    };
    FieldError { field, message }
}

/// serde names a missing or repeated field in its text, and gives the path of the object around it.
fn named_field(message: &str) -> Option<&str> {
    let rest =
        message.strip_prefix("missing field `").or(message.strip_prefix("duplicate field `"));
    rest?.strip_suffix('`')
}
