//! The stream of snapshots that the page listens to (Server-Sent Events).

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::{Stream, StreamExt};
use serde::Serialize;
use tokio::sync::{Mutex, Notify, watch};
use tokio_stream::wrappers::IntervalStream;
use tokio_util::sync::CancellationToken;

use crate::process_view::ProcessView;
use crate::snapshot::{Snapshot, Sources};

/// How often the tables are read while somebody looks.
const INTERVAL: Duration = Duration::from_millis(300);

/// Reads the tables for everyone who looks at the page.
#[derive(Clone)]
pub(crate) struct Live {
    sources: Sources,
    processes: Vec<watch::Receiver<ProcessView>>,
    /// Woken whenever somebody looks.
    looked: Arc<Notify>,
    /// The last snapshot and its age: many viewers cost no more reads than one.
    last: Arc<Mutex<Option<Read>>>,
}

struct Read {
    at: Instant,
    snapshot: Arc<Snapshot>,
}

#[derive(Serialize)]
struct Message<'a> {
    processes: Vec<ProcessView>,
    /// Whether there are buttons that break something.
    lab: bool,
    #[serde(flatten)]
    snapshot: &'a Snapshot,
}

impl Live {
    pub(crate) fn new(
        sources: Sources,
        processes: Vec<watch::Receiver<ProcessView>>,
        looked: Arc<Notify>,
    ) -> Self {
        Self { sources, processes, looked, last: Arc::default() }
    }

    /// A snapshot now and whenever something has changed.
    /// Ends with `shutdown`: an open page must not keep the server from stopping.
    pub(crate) fn stream(
        self,
        shutdown: CancellationToken,
    ) -> Sse<impl Stream<Item = Result<Event, Infallible>> + use<>> {
        let mut previous = String::new();
        let messages = IntervalStream::new(tokio::time::interval(INTERVAL))
            .then(move |_| {
                let live = self.clone();
                async move { live.message().await }
            })
            .filter_map(move |message| {
                let news = (message != previous).then(|| {
                    previous.clone_from(&message);
                    Ok(Event::default().data(message))
                });
                std::future::ready(news)
            });
        let messages = messages.take_until(shutdown.cancelled_owned());
        Sse::new(messages).keep_alive(KeepAlive::default())
    }

    async fn message(&self) -> String {
        self.looked.notify_waiters();
        let snapshot = self.snapshot().await;
        let processes: Vec<_> = self.processes.iter().map(|view| view.borrow().clone()).collect();
        let lab = processes.iter().any(|process| !process.can.is_empty());
        let message = Message { processes, lab, snapshot: &snapshot };
        serde_json::to_string(&message).unwrap_or_default()
    }

    async fn snapshot(&self) -> Arc<Snapshot> {
        let mut last = self.last.lock().await;
        if let Some(read) = last.as_ref()
            && read.at.elapsed() < INTERVAL / 2
        {
            return read.snapshot.clone();
        }
        let snapshot = Arc::new(self.sources.read().await);
        *last = Some(Read { at: Instant::now(), snapshot: snapshot.clone() });
        snapshot
    }
}
