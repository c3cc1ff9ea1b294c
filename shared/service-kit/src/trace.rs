//! Which trace a request belongs to.

use axum::http::HeaderMap;
use transport::Trace;

/// Our step in the request's trace, by W3C Trace Context. Without a readable `traceparent`, or with
/// two of them, it is the first step of a new trace: that is no reason to refuse a request.
#[must_use]
pub fn of_request(headers: &HeaderMap) -> Trace {
    let mut parents = headers.get_all("traceparent").iter();
    let parent = match (parents.next(), parents.next()) {
        (Some(parent), None) => parent.to_str().ok().and_then(Trace::parse),
        _ => None,
    };
    let Some(parent) = parent else {
        return Trace::generate();
    };
    // Several headers are one list.
    let states: Result<Vec<_>, _> =
        headers.get_all("tracestate").iter().map(|state| state.to_str()).collect();
    let state = states.unwrap_or_default().join(",");
    parent.with_state(Some(&state)).child()
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const OTHER: &str = "00-0af7651916cd43dd8448eb211c80319d-b7ad6b7169203331-01";

    fn trace_of(headers: &[(&'static str, &str)]) -> Trace {
        let header = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).expect("one"))
        };
        let mut map = HeaderMap::new();
        for (name, value) in headers.iter().map(header) {
            map.append(name, value);
        }
        of_request(&map)
    }

    #[test]
    fn the_requests_trace_is_continued_with_all_its_notes() {
        let headers = [("traceparent", PARENT), ("tracestate", "a=1"), ("tracestate", "b=2,c=3")];
        let trace = trace_of(&headers);
        assert_eq!(trace.trace_id(), "0af7651916cd43dd8448eb211c80319c");
        assert_ne!(trace.to_string(), PARENT, "a step of its own");
        assert_eq!(trace.headers()["tracestate"], "a=1,b=2,c=3");
    }

    #[test]
    fn a_request_without_a_readable_trace_begins_one() {
        let unreadable: [&[(&str, &str)]; 5] = [
            &[],
            &[("tracestate", "a=1")],
            &[("traceparent", "broken"), ("tracestate", "a=1")],
            &[("traceparent", "\u{e4}")],
            &[("traceparent", PARENT), ("traceparent", OTHER)],
        ];
        for headers in unreadable {
            let (one, other) = (trace_of(headers), trace_of(headers));
            assert_ne!(one.trace_id(), other.trace_id(), "{headers:?}");
            assert_eq!(one.headers().len(), 1, "{headers:?}");
        }
    }

    #[test]
    fn broken_notes_do_not_break_the_trace() {
        let trace = trace_of(&[("traceparent", PARENT), ("tracestate", "\u{e4}=1")]);
        assert_eq!(trace.trace_id(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(trace.headers().len(), 1);
    }
}
