//! One connection to the broker, opened and closed within time limits.

use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lapin::tcp::AMQPUriTcpExt;
use lapin::types::LongString;
use lapin::uri::AMQPUri;
use lapin::{AsyncTcpStream, Channel, Connection, ConnectionProperties};
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout, timeout_at};

use super::errors;
use crate::TransportError;

/// How long the broker may take to answer our goodbye.
const GOODBYE: Duration = Duration::from_secs(1);

/// A moment by which something must be done, and how to say that it was not.
#[derive(Clone, Copy)]
pub(super) struct Deadline {
    pub(super) at: Instant,
    limit: Duration,
}

impl Deadline {
    pub(super) fn after(limit: Duration) -> Self {
        Self { at: Instant::now() + limit, limit }
    }

    /// An equal part of the time that is left, for the next of so many steps.
    pub(super) fn part(self, steps: usize) -> Self {
        let left = self.at.saturating_duration_since(Instant::now());
        Self::after(left / u32::try_from(steps).unwrap_or(u32::MAX).max(1))
    }

    /// Waits for `step`, but not beyond the deadline.
    pub(super) async fn limit<T>(
        self,
        doing: &'static str,
        step: impl Future<Output = Result<T, TransportError>>,
    ) -> Result<T, TransportError> {
        timeout_at(self.at, step).await.unwrap_or_else(|_| Err(self.missed(doing)))
    }

    pub(super) fn missed(self, doing: &'static str) -> TransportError {
        TransportError::TimedOut { doing, seconds: self.limit.as_secs_f32() }
    }
}

/// A connection that is closed when it is dropped, whatever state the broker is in.
///
/// It never recovers by itself: lapin's automatic recovery leaves confirms and consumers hanging
/// for ever once its retries run out.
pub(super) struct Session {
    url: String,
    /// `None` once it was closed.
    line: Option<(Connection, HangUp)>,
}

impl Session {
    /// Connects and says hello. `name` is what the broker shows for the connection.
    pub(super) async fn open(
        uri: &AMQPUri,
        url: &str,
        name: &str,
        deadline: Deadline,
    ) -> Result<Self, TransportError> {
        let properties =
            ConnectionProperties::default().with_connection_name(LongString::from(name));
        let hang_up = HangUp::default();
        let connect = connect(uri.clone(), properties, &hang_up, deadline);
        let connection = deadline
            .limit("connecting", async {
                connect.await.map_err(|error| errors::opening(url, error))
            })
            .await?;
        Ok(Self { url: url.to_owned(), line: Some((connection, hang_up)) })
    }

    /// Opens a channel.
    pub(super) async fn channel(&self, deadline: Deadline) -> Result<Channel, TransportError> {
        let Some((connection, _)) = &self.line else {
            return Err(TransportError::SessionLost { reason: "it was closed".to_owned() });
        };
        deadline
            .limit("opening a channel", async {
                connection.create_channel().await.map_err(|error| self.opening_error(error))
            })
            .await
    }

    /// What a failed step of the opening means.
    pub(super) fn opening_error(&self, error: lapin::Error) -> TransportError {
        errors::opening(&self.url, error)
    }

    /// Says goodbye and hangs up, in the background.
    ///
    /// `children` (channels, consumers) live until then. When they are dropped, lapin closes each
    /// with a message of its own; amid the connection's goodbye it takes that for an error, and
    /// drops the line before our last acknowledgements have been read.
    pub(super) fn close(&mut self, children: impl Send + 'static) {
        let (Some((connection, hang_up)), Ok(runtime)) = (self.line.take(), Handle::try_current())
        else {
            return;
        };
        runtime.spawn(async move {
            // The outcome does not matter: the line goes dead in any case.
            let _ = timeout(GOODBYE, connection.close(200, "goodbye".into())).await;
            drop((hang_up, children));
        });
    }

    /// The largest frame that the broker takes, in bytes.
    pub(super) fn frame_max(&self) -> usize {
        let line = self.line.as_ref();
        line.map_or(0, |(connection, _)| connection.configuration().frame_max() as usize)
    }

    pub(super) fn connected(&self) -> bool {
        self.line.as_ref().is_some_and(|(connection, _)| connection.status().connected())
    }

    /// Whether the broker takes nothing from publishers at the moment. It says so only to
    /// connections that have published.
    pub(super) fn blocked(&self) -> bool {
        self.line.as_ref().is_some_and(|(connection, _)| connection.status().blocked())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.close(());
    }
}

async fn connect(
    uri: AMQPUri,
    properties: ConnectionProperties,
    hang_up: &HangUp,
    deadline: Deadline,
) -> lapin::Result<Connection> {
    let runtime = lapin::runtime::default_runtime()?;
    let (line, reactor) = (Arc::downgrade(&hang_up.0), runtime.clone());
    let dial = async move |uri: AMQPUri, _| {
        // This runs on a thread of lapin's, which outlives our own time-out.
        let stream = timeout_at(deadline.at, uri.connect_async(&reactor)).await;
        let stream = stream.map_err(std::io::Error::from)??;
        let AsyncTcpStream::Plain(plain) = &stream else {
            return Err(std::io::Error::other("not a plain TCP connection").into());
        };
        let socket = second_handle(plain.get_ref())?;
        // Nobody waits for the connection any more when the other end of `line` is gone.
        let line = line.upgrade().ok_or_else(|| std::io::Error::other("no longer wanted"))?;
        let _ = line.set(socket);
        Ok(stream)
    };
    Connection::connector(uri, runtime, dial, properties).await
}

/// Cuts the TCP connection when it is dropped.
///
/// lapin closes a connection by sending a goodbye and waiting for the answer on a thread of its
/// own. Where the broker takes nothing (a memory alarm) or the network has swallowed it, neither
/// happens, and each lost session would leave a thread and its buffers behind.
#[derive(Default)]
struct HangUp(Arc<OnceLock<std::net::TcpStream>>);

impl Drop for HangUp {
    fn drop(&mut self) {
        if let Some(socket) = self.0.get() {
            // An error means that it is closed already.
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
    }
}

#[cfg(unix)]
fn second_handle(stream: &tokio::net::TcpStream) -> std::io::Result<std::net::TcpStream> {
    use std::os::fd::AsFd;
    stream.as_fd().try_clone_to_owned().map(Into::into)
}

#[cfg(windows)]
fn second_handle(stream: &tokio::net::TcpStream) -> std::io::Result<std::net::TcpStream> {
    use std::os::windows::io::AsSocket;
    stream.as_socket().try_clone_to_owned().map(Into::into)
}
