//! `healthcheck`: the command that asks whether the process beside this one is ready. A container
//! has no shell and no curl, so the program itself is what `HEALTHCHECK` runs.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::health::CHECK_TIMEOUT;
use crate::settings::loopback;

/// A second more than the process itself gives its database: its report says more than our silence.
const TIME_LIMIT: Duration = CHECK_TIMEOUT.saturating_add(Duration::from_secs(1));

/// Far above any report; whatever else listens there may send without end.
const LARGEST_REPORT: u64 = 64 * 1024;

/// Asks whether the process that runs beside this one, by the same HTTP_ADDR, is ready. That is on
/// loopback and `PORT` unless told otherwise.
#[derive(Debug, Clone, Copy, Args)]
pub struct Healthcheck<const PORT: u16> {
    /// Where that process listens; without it, where it listens by default
    // No default here: clap keeps one for all the `PORT`s together.
    #[arg(long, env)]
    http_addr: Option<SocketAddr>,
}

/// The command of a program that has no other
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum OnlyHealthcheck<const PORT: u16> {
    /// Asks whether the process that runs beside this one, by the same HTTP_ADDR, is ready
    Healthcheck(Healthcheck<PORT>),
}

/// Why a process is not ready, as far as one can see from beside it.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    /// Nobody has the port.
    #[error("nothing listens on {0}")]
    NothingThere(String),
    /// The network's own trouble on the way there.
    #[error("{0} can't be reached: {1}")]
    Unreachable(String, #[source] io::Error),
    /// Somebody has the port, and is silent.
    #[error("{0}: no answer within {limit} s", limit = TIME_LIMIT.as_secs())]
    NoAnswer(String),
    /// It ended, or was ended, while it was asked.
    #[error("{0} closed the connection without an answer")]
    HungUp(String),
    /// Another program has the port.
    #[error("what listens on {0} does not report its health")]
    NoReport(String),
    /// What it says itself: each check that fails.
    #[error("{0}")]
    Checks(String),
}

impl<const PORT: u16> Healthcheck<PORT> {
    /// Asks, prints the answer, and ends with 0 (ready) or 1.
    #[must_use]
    pub fn run(self) -> ExitCode {
        run(self.http_addr.unwrap_or(loopback(PORT)))
    }
}

/// Asks the process that listens on `address`, prints the answer, and ends with 0 (ready) or 1.
#[must_use]
pub fn run(address: SocketAddr) -> ExitCode {
    // Docker runs this every few seconds: no threads but the one that there is.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let answer = runtime.map_err(|error| error.to_string()).and_then(|runtime| {
        let asked = runtime.block_on(ask(&reachable(address).to_string()));
        asked.map_err(|error| error.to_string())
    });
    let (line, code) = match answer {
        Ok(()) => ("ready".to_owned(), ExitCode::SUCCESS),
        Err(reason) => (format!("not ready: {reason}"), ExitCode::FAILURE),
    };
    // Whoever does not read the line has the exit code.
    let _ = writeln!(io::stdout(), "{line}");
    code
}

/// An address to listen on everywhere is none to connect to.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        IpAddr::V4(_) | IpAddr::V6(_) => {}
    }
    address
}

/// Asks the process at `place` (`host:port`) for its `/health/ready`.
///
/// # Errors
/// It is not ready, or can't be asked.
pub async fn ask(place: &str) -> Result<(), NotReady> {
    match tokio::time::timeout(TIME_LIMIT, report(place)).await {
        Err(_) => Err(NotReady::NoAnswer(place.to_owned())),
        Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
            Err(NotReady::NothingThere(place.to_owned()))
        }
        Ok(Err(error)) => Err(NotReady::Unreachable(place.to_owned(), error)),
        Ok(Ok(answer)) if answer.is_empty() => Err(NotReady::HungUp(place.to_owned())),
        Ok(Ok(answer)) => {
            read(&answer).unwrap_or_else(|| Err(NotReady::NoReport(place.to_owned())))
        }
    }
}

/// HTTP/1.0, whose answer ends with its connection: all that one short question needs, in any
/// server's language.
async fn report(place: &str) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(place).await?;
    let question = format!("GET /health/ready HTTP/1.0\r\nHost: {place}\r\n\r\n");
    stream.write_all(question.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(LARGEST_REPORT).read_to_end(&mut answer).await?;
    Ok(answer)
}

#[derive(Deserialize)]
struct Report {
    checks: BTreeMap<String, String>,
}

/// None: it is no health report.
fn read(answer: &[u8]) -> Option<Result<(), NotReady>> {
    let answer = str::from_utf8(answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.")?.split(' ').nth(1)?;
    let Report { checks } = serde_json::from_str(body).ok()?;
    if status == "200" {
        return Some(Ok(()));
    }
    let failing = checks.into_iter().filter(|(_, state)| state != "ok");
    let failing: Vec<_> = failing.map(|(name, state)| format!("{name}: {state}")).collect();
    Some(Err(NotReady::Checks(failing.join("; ").replace(['\n', '\r'], " "))))
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// What is said of a program that gives every connection this answer.
    async fn said_of(answer: &'static [u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let place = listener.local_addr().expect("an address").to_string();
        let serving = async {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut question = [0; 256];
            let _ = stream.read(&mut question).await;
            let _ = stream.write_all(answer).await;
        };
        let (asked, ()) = tokio::join!(ask(&place), serving);
        asked.expect_err("not ready").to_string().replace(&place, "PLACE")
    }

    #[tokio::test]
    async fn whatever_has_the_port_it_is_ready_only_if_it_says_so_in_a_report() {
        let other = "what listens on PLACE does not report its health";
        for answer in [
            &b"\xff\xfe"[..],
            b"SSH-2.0-OpenSSH_9.2\r\n",
            b"HTTP/1.1 200 OK\r\n\r\n<html>",
            b"HTTP/1.1 200 OK\r\n\r\n{\"status\":\"ok\"}",
            b"HTTP/1.1\r\n\r\n{\"checks\":{}}",
        ] {
            assert_eq!(said_of(answer).await, other, "{answer:?}");
        }
        assert_eq!(said_of(b"").await, "PLACE closed the connection without an answer");
        let degraded = b"HTTP/1.0 503 Service Unavailable\r\n\r\n\
            {\"status\":\"degraded\",\"checks\":{\"broker\":\"ok\",\"database\":\"gone\\nfor good\",\"moon\":\"down\"}}";
        assert_eq!(said_of(degraded).await, "database: gone for good; moon: down");
    }

    #[test]
    fn an_address_to_listen_on_everywhere_is_asked_on_loopback() {
        for (listens, asked) in [
            ("0.0.0.0:8080", "127.0.0.1:8080"),
            ("[::]:8080", "[::1]:8080"),
            ("192.0.2.7:8080", "192.0.2.7:8080"),
        ] {
            let address = listens.parse().expect("an address");
            assert_eq!(reachable(address).to_string(), asked);
        }
    }
}
