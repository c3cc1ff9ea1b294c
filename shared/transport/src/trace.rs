use std::fmt;
use std::num::{NonZeroU64, NonZeroU128};

use crate::{Headers, Message};

/// The header that names the trace and the step in it.
const TRACEPARENT: &str = "traceparent";

/// The header in which tracing systems keep notes of their own.
const TRACESTATE: &str = "tracestate";

/// The flags that we know: sampled, and random trace id. Others mean nothing to us and are not passed on.
const KNOWN_FLAGS: u8 = 0b11;

const SAMPLED: u8 = 0b01;

/// Longer notes are dropped: a stranger must not decide how large our messages are.
const MAX_STATE: usize = 512;

/// Which trace a message belongs to, by W3C Trace Context. It is for people who look for the way of
/// one request through many programs; nothing here is decided by it, and a broken one is no error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    trace_id: NonZeroU128,
    span_id: NonZeroU64,
    flags: u8,
    state: Option<String>,
}

impl Trace {
    /// A new one, for what nobody traces yet. It says "sampled", so that whoever can record does.
    #[must_use]
    pub fn generate() -> Self {
        Self { trace_id: rand::random(), span_id: rand::random(), flags: SAMPLED, state: None }
    }

    /// The next step of the same trace.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { span_id: rand::random(), ..self.clone() }
    }

    /// The next step of a message's trace, or the first of a new one.
    #[must_use]
    pub fn continued(message: &Message) -> Self {
        let text = |name| message.headers.get(name).and_then(serde_json::Value::as_str);
        match text(TRACEPARENT).and_then(Self::parse) {
            Some(trace) => trace.with_state(text(TRACESTATE)).child(),
            None => Self::generate(),
        }
    }

    /// Reads the value of `traceparent`.
    #[must_use]
    pub fn parse(traceparent: &str) -> Option<Self> {
        let mut fields = traceparent.split('-');
        let mut hex = |digits: usize| {
            let field = fields.next().filter(|field| field.len() == digits)?;
            let is_lower_hex = |b| matches!(b, b'0'..=b'9' | b'a'..=b'f');
            let valid = field.bytes().all(is_lower_hex);
            if valid { u128::from_str_radix(field, 16).ok() } else { None }
        };
        let (version, trace_id, span_id, flags) = (hex(2)?, hex(32)?, hex(16)?, hex(2)?);
        // Versions that we don't know begin like the one that we do, and may go on. 255 is none.
        if version == 255 || (version == 0 && fields.next().is_some()) {
            return None;
        }
        Some(Self {
            trace_id: NonZeroU128::new(trace_id)?,
            span_id: NonZeroU64::new(u64::try_from(span_id).ok()?)?,
            flags: u8::try_from(flags).ok()? & KNOWN_FLAGS,
            state: None,
        })
    }

    /// With the value of `tracestate`, if it is one.
    #[must_use]
    pub fn with_state(mut self, tracestate: Option<&str>) -> Self {
        self.state = tracestate.map(str::trim).filter(|text| is_state(text)).map(str::to_owned);
        self
    }

    /// The headers to send it in.
    #[must_use]
    pub fn headers(&self) -> Headers {
        let mut headers = Headers::from([(TRACEPARENT.to_owned(), self.to_string().into())]);
        if let Some(state) = &self.state {
            headers.insert(TRACESTATE.to_owned(), state.clone().into());
        }
        headers
    }

    /// The trace's own id: 32 hexadecimal digits.
    #[must_use]
    pub fn trace_id(&self) -> String {
        format!("{:032x}", self.trace_id)
    }
}

/// As the header `traceparent` has it.
impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trace_id, span_id, flags, .. } = self;
        write!(f, "00-{trace_id:032x}-{span_id:016x}-{flags:02x}")
    }
}

/// A list of at most 32 `key=value`. The keys are the tracing systems' affair, the characters ours.
fn is_state(text: &str) -> bool {
    let is_member = |member: &str| {
        let Some((key, value)) = member.trim().split_once('=') else {
            return member.trim().is_empty();
        };
        let in_key =
            |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/' | b'@');
        let in_value = |b: u8| matches!(b, b' '..=b'~') && b != b'=' && b != b',';
        (1..=256).contains(&key.len())
            && key.bytes().all(in_key)
            && (1..=256).contains(&value.len())
            && value.bytes().all(in_value)
    };
    (1..=MAX_STATE).contains(&text.len())
        && text.split(',').count() <= 32
        && text.split(',').all(is_member)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn with_headers(headers: &[(&str, serde_json::Value)]) -> Message {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        Message { headers: headers.collect(), ..Message::default() }
    }

    #[test]
    fn a_traceparent_is_shown_as_it_was_read() {
        for text in [PARENT, "00-0000000000000000000000000000000a-000000000000000b-00"] {
            assert_eq!(Trace::parse(text).expect("valid").to_string(), text);
        }
        let generated = Trace::generate();
        assert_eq!(Trace::parse(&generated.to_string()), Some(generated));
    }

    #[test]
    fn a_later_version_is_read_as_far_as_we_know_it() {
        let later = PARENT.replacen("00", "cc", 1).replace("-01", "-ff-what-will-be");
        let expected = PARENT.replace("-01", "-03");
        assert_eq!(Trace::parse(&later).expect("valid").to_string(), expected);
    }

    #[test]
    fn what_is_no_traceparent_is_none() {
        for text in [
            "",
            "00",
            "nonsense",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            " 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01more",
            "00-äf7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert_eq!(Trace::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_next_step_keeps_the_trace_and_has_an_id_of_its_own() {
        let first = Trace::parse(PARENT).expect("valid").with_state(Some("vendor=note"));
        let next = first.child();
        assert_eq!(next.trace_id(), "0af7651916cd43dd8448eb211c80319c");
        assert_ne!(next.span_id, first.span_id);
        assert_eq!((next.flags, &next.state), (first.flags, &first.state));
    }

    #[test]
    fn a_message_is_continued_with_its_trace_and_its_notes() {
        let message = with_headers(&[
            ("traceparent", json!(PARENT)),
            ("tracestate", json!("rojo=00f067aa0ba902b7,congo@x=t61rcWkgMzE")),
        ]);
        let headers = Trace::continued(&message).headers();
        let parent = headers["traceparent"].as_str().expect("text");
        assert!(parent.starts_with("00-0af7651916cd43dd8448eb211c80319c-"), "{parent}");
        assert_ne!(parent, PARENT);
        assert_eq!(headers["tracestate"], json!("rojo=00f067aa0ba902b7,congo@x=t61rcWkgMzE"));
    }

    #[test]
    fn a_message_without_a_readable_trace_begins_one() {
        for parent in [json!(null), json!(7), json!("broken"), json!({"bytes": "00"})] {
            let message = with_headers(&[("traceparent", parent), ("tracestate", json!("a=b"))]);
            let headers = Trace::continued(&message).headers();
            assert!(Trace::parse(headers["traceparent"].as_str().expect("text")).is_some());
            assert!(!headers.contains_key("tracestate"), "notes about another trace");
        }
        let (one, other) = (Message::default(), Message::default());
        assert_ne!(Trace::continued(&one).trace_id(), Trace::continued(&other).trace_id());
    }

    #[test]
    fn broken_or_endless_notes_are_dropped_and_the_trace_goes_on() {
        let long = format!("a={}", "x".repeat(300));
        let endless = ["a=b"; 200].join(",");
        let many = ["a=b"; 33].join(",");
        for state in ["", " ", "a", "A=b", "a=b=c", "a=\u{e4}", "=b", "a=", &long, &endless, &many]
        {
            let trace = Trace::parse(PARENT).expect("valid").with_state(Some(state));
            assert_eq!(trace.to_string(), PARENT);
            assert_eq!(trace.state, None, "{state:?}");
        }
        let kept = Trace::parse(PARENT).expect("valid").with_state(Some("a=b, ,c= d "));
        assert_eq!(kept.state.as_deref(), Some("a=b, ,c= d"));
    }
}
