//! Who may make administrative calls, who makes them, and why.

mod parked;
mod said;

use axum::http::{HeaderMap, StatusCode, header};
use sha2::{Digest, Sha256};

use crate::Problem;

pub use parked::parked_messages;
pub use said::{Actor, Before, DiscardBody, InvalidText, RetryBody, Why};

/// The token that administrative calls must carry.
#[derive(Clone)]
pub struct AdminToken(Option<String>);

impl AdminToken {
    /// Without a token, or with an empty one, the calls are off.
    #[must_use]
    pub fn new(token: Option<String>) -> Self {
        Self(token.filter(|token| !token.is_empty()))
    }

    /// Lets a request pass that carries `Authorization: Bearer <token>`.
    ///
    /// # Errors
    /// 404 where the calls are off, 401 without a token, 403 with a wrong one.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let Some(expected) = &self.0 else {
            return Err(Problem::not_found("administrative calls are off: ADMIN_TOKEN is not set"));
        };
        let given = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.strip_prefix("Bearer "));
        match given {
            None => Err(Problem::new(StatusCode::UNAUTHORIZED)
                .detail("expected Authorization: Bearer <ADMIN_TOKEN>")
                .challenge("Bearer")),
            // Digests, so that the time of the comparison tells nothing about the token.
            Some(given) if Sha256::digest(given) == Sha256::digest(expected) => Ok(()),
            Some(_) => Err(Problem::new(StatusCode::FORBIDDEN).detail("wrong token")),
        }
    }
}
