//! What has been tried so far: the matrix as it fills.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lab::{Catalogue, Lab, Sites, Trace, Verdict, all_cells, matrix};
use serde::Serialize;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

/// Experiments at the same time: one for each of two cores. More would get in each other's way.
const AT_ONCE: usize = 2;

/// Viewers that are further behind than this get the whole board again.
const NEWS: usize = 64;

/// Shared by all viewers.
#[derive(Clone)]
pub(crate) struct Board {
    inner: Arc<Mutex<Inner>>,
    news: broadcast::Sender<String>,
}

#[derive(Default)]
struct Inner {
    traces: BTreeMap<String, BTreeMap<String, Arc<Trace>>>,
    /// The run of the whole matrix, while there is one.
    running: Option<CancellationToken>,
    done: usize,
}

/// A part of the board, or all of it.
#[derive(Debug, Serialize)]
struct View {
    running: bool,
    done: usize,
    total: usize,
    cells: Cells,
}

/// Cells by row and failure.
pub(crate) type Cells = BTreeMap<String, BTreeMap<String, CellView>>;

/// What came of a cell.
#[derive(Debug, Serialize)]
pub(crate) struct CellView {
    verdict: Verdict,
    milliseconds: u64,
}

impl Board {
    pub(crate) fn new() -> Self {
        Self { inner: Arc::default(), news: broadcast::Sender::new(NEWS) }
    }

    /// Notes a run, if it is a cell of the matrix.
    pub(crate) fn note(&self, trace: &Arc<Trace>) {
        let row = Catalogue::get().rows.iter().find(|row| row.mistakes == trace.mistakes);
        if let Some(row) = row {
            self.set(&row.id, &trace.failure, trace.clone());
        }
    }

    /// The recorded run of a cell.
    pub(crate) fn trace(&self, row: &str, failure: &str) -> Option<Arc<Trace>> {
        self.inner().traces.get(row)?.get(failure).cloned()
    }

    /// Everything as it is now, and all that comes later.
    pub(crate) fn watch(&self) -> (String, broadcast::Receiver<String>) {
        let inner = self.inner();
        (json(&inner.view(|_, _| true)), self.news.subscribe())
    }

    /// Runs the whole matrix. False: it is being run already.
    pub(crate) fn run_all(&self, lab: Lab, sites: Arc<dyn Sites>) -> bool {
        let stop = CancellationToken::new();
        {
            let mut inner = self.inner();
            if inner.running.is_some() {
                return false;
            }
            inner.running = Some(stop.clone());
            inner.done = 0;
            inner.traces.clear();
            let _ = self.news.send(json(&inner.view(|_, _| true)));
        }
        let board = self.clone();
        tokio::spawn(async move {
            let mut cells = matrix(lab, sites, AT_ONCE, all_cells());
            while let Some(Some(cell)) = stop.run_until_cancelled(cells.recv()).await {
                match cell.trace {
                    Ok(trace) => {
                        board.inner().done += 1;
                        board.set(&cell.row, &cell.failure, Arc::new(trace));
                    }
                    Err(error) => {
                        tracing::warn!("{} × {}: {error:#}", cell.row, cell.failure);
                    }
                }
            }
            let mut inner = board.inner();
            inner.running = None;
            let _ = board.news.send(json(&inner.view(|_, _| false)));
        });
        true
    }

    /// Starts no further cells.
    pub(crate) fn stop(&self) {
        if let Some(running) = &self.inner().running {
            running.cancel();
        }
    }

    /// The verdicts of all cells that have been run.
    pub(crate) fn cells(&self) -> Cells {
        self.inner().view(|_, _| true).cells
    }

    pub(crate) fn set(&self, row: &str, failure: &str, trace: Arc<Trace>) {
        let mut inner = self.inner();
        inner.traces.entry(row.to_owned()).or_default().insert(failure.to_owned(), trace);
        let news = inner.view(|of_row, of_failure| of_row == row && of_failure == failure);
        let _ = self.news.send(json(&news));
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn view(&self, shows: impl Fn(&str, &str) -> bool) -> View {
        let catalogue = Catalogue::get();
        let mut cells = Cells::new();
        for (row, traces) in &self.traces {
            for (failure, trace) in traces.iter().filter(|(failure, _)| shows(row, failure)) {
                let (verdict, milliseconds) = (trace.verdict, trace.milliseconds);
                let cell = CellView { verdict, milliseconds };
                cells.entry(row.clone()).or_default().insert(failure.clone(), cell);
            }
        }
        View {
            running: self.running.is_some(),
            done: self.done,
            total: catalogue.rows.len() * catalogue.failures.len(),
            cells,
        }
    }
}

fn json(view: &View) -> String {
    serde_json::to_string(view).unwrap_or_default()
}
