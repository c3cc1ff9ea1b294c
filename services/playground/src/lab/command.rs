use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::{Args, Subcommand};
use lab::{
    Catalogue, EmbeddedSites, Experiment, Lab, Pace, Sites, Trace, Verdict, all_cells, matrix,
};
use service_kit::program;

/// Makes experiments: real processes, one failure, a verdict
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Makes one failure happen and says what came of it; the exit code is 0 for exactly one effect
    Run(RunSettings),
    /// Runs all rows of mistakes against all failures
    Matrix(MatrixSettings),
    /// Lists failures and mistakes
    List,
}

/// What to try
#[derive(Debug, Args)]
pub struct RunSettings {
    /// The failure, such as crash-before-mark
    failure: String,

    /// What the programs do wrong, with commas between them, such as no-inbox
    #[arg(long, default_value = "", value_name = "MISTAKES")]
    without: String,

    /// Also write the trace to this file, as JSON
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

/// How to run everything
#[derive(Debug, Args)]
pub struct MatrixSettings {
    /// Experiments at the same time
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=16))]
    at_once: u16,

    /// Write the verdicts to this file, as JSON
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

/// A lab whose programs are in this binary.
pub(crate) fn lab() -> anyhow::Result<Lab> {
    let program = std::env::current_exe().context("where this program is")?;
    Ok(Lab { program, pace: Pace::quick() })
}

impl LabCommand {
    /// Carries it out.
    #[must_use]
    pub fn run(self) -> ExitCode {
        match self {
            Self::Run(settings) => program::run_for_exit_code(run(settings)),
            Self::Matrix(settings) => program::run_for_exit_code(run_matrix(settings)),
            Self::List => program::run(async { list() }),
        }
    }
}

fn list() -> anyhow::Result<()> {
    let failures = Catalogue::get().failures.iter().map(|failure| failure.id.as_str());
    let mistakes = mistakes::Mistake::ALL.map(mistakes::Mistake::id);
    program::print("Failures:")?;
    failures.map(|name| format!("  {name}")).try_for_each(|line| program::print(&line))?;
    program::print("Mistakes:")?;
    mistakes.map(|name| format!("  {name}")).iter().try_for_each(|line| program::print(line))
}

async fn run(settings: RunSettings) -> anyhow::Result<ExitCode> {
    let experiment = Experiment::new(&settings.without, &settings.failure)?;
    let sites = EmbeddedSites::default();
    let trace = lab()?.run(&*sites.fresh().await?, &experiment).await?;
    print(&trace)?;
    if let Some(path) = settings.trace {
        let json = serde_json::to_vec(&trace)?;
        std::fs::write(&path, json).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(exit_code(trace.verdict == Verdict::ExactlyOneEffect))
}

fn exit_code(well: bool) -> ExitCode {
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print(trace: &Trace) -> anyhow::Result<()> {
    for step in &trace.steps {
        let source = step.source.as_ref();
        let source = source.map(|at| format!("{}:{}", at.file, at.line)).unwrap_or_default();
        let point = step.point.as_deref().or(step.what.as_deref()).unwrap_or_default();
        let order = step.order.as_deref().unwrap_or_default();
        let status = step.status.map(|status| status.to_string()).unwrap_or_default();
        let what = format!("{} {point} {order} {status}", step.kind);
        let what = what.trim_end();
        program::print(&format!("{:>5} ms  {:<18} {what:<34} {source}", step.at, step.actor))?;
    }
    let equation = trace.equation;
    program::print(&format!(
        "\n{}: {} orders wanted, {} accepted, {} reservations, {} text messages ({} ms)",
        trace.verdict.words(),
        equation.wanted,
        equation.accepted,
        equation.reservations,
        equation.text_messages,
        trace.milliseconds,
    ))
}

async fn run_matrix(settings: MatrixSettings) -> anyhow::Result<ExitCode> {
    let catalogue = Catalogue::get();
    let mut cells =
        matrix(lab()?, Arc::new(EmbeddedSites::default()), settings.at_once.into(), all_cells());
    let mut found: BTreeMap<String, BTreeMap<String, Verdict>> = BTreeMap::new();
    let mut as_expected = true;
    while let Some(cell) = cells.recv().await {
        let trace = cell.trace.with_context(|| format!("{} × {}", cell.row, cell.failure))?;
        let expected = catalogue.expected.get(&cell.row).and_then(|row| row.get(&cell.failure));
        let differs = expected != Some(&trace.verdict);
        as_expected &= !differs;
        program::print(&format!(
            "{:<30} {:<30} {:<20} {:>5} ms{}",
            cell.row,
            cell.failure,
            trace.verdict.words(),
            trace.milliseconds,
            if differs { "  not as expected" } else { "" }
        ))?;
        found.entry(cell.row).or_default().insert(cell.failure, trace.verdict);
    }
    if let Some(path) = settings.write {
        let json = format!("{}\n", serde_json::to_string_pretty(&found)?);
        std::fs::write(&path, json).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(exit_code(as_expected))
}
