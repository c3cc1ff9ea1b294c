//! Who may call the page's server: its own page. It listens on this machine and asks for no password, so
//! without this any page that somebody has open could do what its buttons do.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use service_kit::Problem;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The names by which the page may be called, besides those of loopback.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hosts(Arc<[String]>);

impl Hosts {
    pub(crate) fn new(names: &[String]) -> Self {
        Self(names.iter().map(|name| name.to_ascii_lowercase()).collect())
    }

    fn has(&self, host: &str) -> bool {
        let name = name_of(host).to_ascii_lowercase();
        name == "localhost"
            || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
            || self.0.contains(&name)
    }
}

/// Refuses what comes by another name: a foreign page whose own name was made to lead here ("DNS
/// rebinding") counts as the same origin for a browser.
pub(crate) async fn known_host(
    State(hosts): State<Hosts>,
    request: Request,
    next: Next,
) -> Response {
    match host(&request) {
        Some(host) if hosts.has(&host) => next.run(request).await,
        _ => refused("this page is not known by that name; call it 127.0.0.1 or localhost"),
    }
}

/// Refuses changes that another page asks for.
pub(crate) async fn same_origin(request: Request, next: Next) -> Response {
    let is_change = ![Method::GET, Method::HEAD, Method::OPTIONS].contains(request.method());
    if is_change && is_foreign(request.headers(), host(&request).as_deref()) {
        return refused("only the page itself may ask for changes");
    }
    next.run(request).await
}

/// Programs that are no browsers send neither header.
fn is_foreign(headers: &HeaderMap, host: Option<&str>) -> bool {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let own = |origin: &str| {
        let place = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        place.zip(host).is_some_and(|(place, host)| place.eq_ignore_ascii_case(host))
    };
    text(header::ORIGIN).is_some_and(|origin| !own(origin))
        || text(SEC_FETCH_SITE).is_some_and(|site| !["same-origin", "none"].contains(&site))
}

fn host(request: &Request) -> Option<String> {
    let by_header = request.headers().get(header::HOST).and_then(|value| value.to_str().ok());
    let by_target = || request.uri().authority().map(|authority| authority.as_str());
    by_header.or_else(by_target).map(str::to_owned)
}

/// Without the port, and without the brackets of an IPv6 address.
fn name_of(host: &str) -> &str {
    if let Some((address, _)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address;
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

fn refused(why: &str) -> Response {
    Problem::new(StatusCode::FORBIDDEN).detail(why).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_loopback_are_known_and_those_that_were_named() {
        let hosts = Hosts::new(&["Shop.Example".to_owned()]);
        for host in [
            "localhost:8090",
            "LOCALHOST",
            "127.0.0.1:8090",
            "127.1.2.3",
            "[::1]:8090",
            "shop.example:9000",
        ] {
            assert!(hosts.has(host), "{host}");
        }
        for host in [
            "",
            "evil.example:8090",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "192.0.2.7:8090",
            "[2001:db8::1]:8090",
            "evil.example:8090@localhost.x",
        ] {
            assert!(!hosts.has(host), "{host}");
        }
    }

    #[test]
    fn a_change_is_foreign_when_the_browser_says_so() {
        let foreign = |name: HeaderName, value: &'static str| {
            let headers = HeaderMap::from_iter([(name, value.parse().expect("a value"))]);
            is_foreign(&headers, Some("127.0.0.1:8090"))
        };
        assert!(!is_foreign(&HeaderMap::new(), Some("127.0.0.1:8090")), "no browser");
        assert!(!foreign(header::ORIGIN, "http://127.0.0.1:8090"));
        for origin in ["null", "http://127.0.0.1:3000", "http://evil.example", "127.0.0.1:8090", ""]
        {
            assert!(foreign(header::ORIGIN, origin), "{origin}");
        }
        assert!(!foreign(SEC_FETCH_SITE, "same-origin"));
        assert!(!foreign(SEC_FETCH_SITE, "none"));
        assert!(foreign(SEC_FETCH_SITE, "same-site"));
        assert!(foreign(SEC_FETCH_SITE, "cross-site"));
    }
}
