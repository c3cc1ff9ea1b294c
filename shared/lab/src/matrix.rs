//! All cells: what each set of mistakes makes of each failure.

use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::{Catalogue, Experiment, Lab, Sites, Trace};

/// One run of the matrix.
#[derive(Debug)]
pub struct Cell {
    /// The row: a set of mistakes.
    pub row: String,
    /// The column: a failure.
    pub failure: String,
    /// What was recorded, or why nothing was.
    pub trace: anyhow::Result<Trace>,
}

/// A row and a failure, by their names.
pub type Place = (&'static str, &'static str);

/// Runs cells, `at_once` at the same time, and hands each over as it is done. Dropping the receiver stops
/// it.
pub fn matrix(
    lab: Lab,
    sites: Arc<dyn Sites>,
    at_once: usize,
    cells: Vec<Place>,
) -> mpsc::Receiver<Cell> {
    let (sender, receiver) = mpsc::channel(at_once.max(1));
    let places = Arc::new(Semaphore::new(at_once.max(1)));
    tokio::spawn(async move {
        let mut running = JoinSet::new();
        for (row, failure) in cells {
            let Ok(place) = places.clone().acquire_owned().await else {
                break;
            };
            if sender.is_closed() {
                break;
            }
            let (lab, sites, sender) = (lab.clone(), sites.clone(), sender.clone());
            running.spawn(async move {
                let trace = run(&lab, &*sites, row, failure).await;
                let (row, failure) = (row.to_owned(), failure.to_owned());
                let _ = sender.send(Cell { row, failure, trace }).await;
                drop(place);
            });
        }
        running.join_all().await;
    });
    receiver
}

/// All rows and failures, in the order of the page.
#[must_use]
pub fn all_cells() -> Vec<Place> {
    let catalogue = Catalogue::get();
    let failures = || catalogue.failures.iter().map(|failure| failure.id.as_str());
    let cells = catalogue.rows.iter().flat_map(|row| failures().map(|it| (row.id.as_str(), it)));
    cells.collect()
}

async fn run(lab: &Lab, sites: &dyn Sites, row: &str, failure: &str) -> anyhow::Result<Trace> {
    let mistakes = Catalogue::get().row(row).map(|row| row.mistakes.to_string());
    let experiment = Experiment::new(&mistakes.unwrap_or_default(), failure)?;
    lab.run(&*sites.fresh().await?, &experiment).await
}
