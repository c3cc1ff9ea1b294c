//! The page as files, with every cell of the matrix recorded: a site for any web server, without programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use lab::{EmbeddedSites, Trace, all_cells, matrix};
use service_kit::program;

use super::board::Board;
use super::command::lab;
use super::definition::Definition;
use super::sources::SOURCES;
use crate::{guide, page};

/// Writes the page with all recorded experiments into a folder, for any web server
#[derive(Debug, Args)]
pub struct Export {
    /// A folder that is empty, or not there yet
    dir: PathBuf,

    /// Experiments at the same time
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=16))]
    at_once: u16,
}

impl Export {
    /// Runs the matrix and writes the site.
    #[must_use]
    pub fn run(self) -> ExitCode {
        program::run(self.export())
    }

    async fn export(self) -> anyhow::Result<()> {
        let is_empty = !self.dir.exists() || fs::read_dir(&self.dir)?.next().is_none();
        anyhow::ensure!(is_empty, "{}: there are files in it; choose another", self.dir.display());
        for (path, text) in page::FILES {
            let path = if *path == "/" { "/index.html" } else { path };
            write(&self.dir, path.trim_start_matches('/'), &recorded(text))?;
        }
        for file in guide::files() {
            write(&self.dir, &file.path, &file.text)?;
        }
        for (path, text) in SOURCES {
            write(&self.dir, &format!("source/{path}"), text)?;
        }
        let board = self.record().await?;
        write(&self.dir, "lab.json", &serde_json::to_string(&Definition::export(board.cells()))?)?;
        program::print(&format!("Written to {}: any web server can serve it.", self.dir.display()))
    }

    async fn record(&self) -> anyhow::Result<Board> {
        let (board, total) = (Board::new(), all_cells().len());
        let mut cells =
            matrix(lab()?, Arc::new(EmbeddedSites::default()), self.at_once.into(), all_cells());
        let mut done = 0;
        while let Some(cell) = cells.recv().await {
            let place = format!("{}/{}", cell.row, cell.failure);
            let trace: Arc<Trace> = Arc::new(cell.trace.with_context(|| place.clone())?);
            let text = serde_json::to_string(&trace)?;
            write(&self.dir, &format!("traces/{place}.json"), &text)?;
            done += 1;
            let words = trace.verdict.words();
            program::print(&format!("{done:>4} of {total}  {place}  {words}"))?;
            board.set(&cell.row, &cell.failure, trace);
        }
        Ok(board)
    }
}

/// The page asks for no live shop where it finds this mark.
fn recorded(page: &str) -> String {
    page.replace("<body>", "<body data-recorded>")
}

fn write(dir: &Path, path: &str, text: &str) -> anyhow::Result<()> {
    let path = dir.join(path);
    let written = path.parent().map_or(Ok(()), fs::create_dir_all);
    written
        .and_then(|()| fs::write(&path, text))
        .with_context(|| format!("writing {}", path.display()))
}
