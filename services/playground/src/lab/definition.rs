use std::collections::BTreeMap;

use lab::catalogue::Named;
use lab::{Catalogue, Verdict};
use mistakes::Mistake;
use serde::Serialize;

use super::board::Cells;
use super::sources::SOURCES;

/// What the page must know to offer experiments: `lab.json`.
#[derive(Debug, Serialize)]
pub(crate) struct Definition {
    format: u32,
    mode: Mode,
    mistakes: Vec<MistakeView>,
    failures: Vec<FailureView>,
    presets: &'static [Named],
    rows: &'static [Named],
    expected: &'static BTreeMap<String, BTreeMap<String, Verdict>>,
    sources: Vec<&'static str>,
    /// Of a site without programs: what was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    cells: Option<Cells>,
}

/// Whether there are programs behind the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// They run when asked.
    Live,
    /// They have run; the page shows what was recorded.
    Export,
}

#[derive(Debug, Serialize)]
struct MistakeView {
    id: &'static str,
    protection: &'static str,
    excludes: Option<&'static str>,
    source: SourceView,
}

#[derive(Debug, Serialize)]
struct SourceView {
    file: &'static str,
    line: u32,
}

#[derive(Debug, Serialize)]
struct FailureView {
    id: &'static str,
    faults: &'static [u32],
    points: &'static [String],
}

impl Definition {
    /// With programs behind it.
    pub(crate) fn live() -> Self {
        Self::new(Mode::Live, None)
    }

    /// With nothing but what was recorded.
    pub(crate) fn export(cells: Cells) -> Self {
        Self::new(Mode::Export, Some(cells))
    }

    fn new(mode: Mode, cells: Option<Cells>) -> Self {
        let catalogue = Catalogue::get();
        let mistake = |mistake: Mistake| MistakeView {
            id: mistake.id(),
            protection: mistake.protection(),
            excludes: mistake.excludes().map(Mistake::id),
            source: SourceView { file: mistake.source(), line: 1 },
        };
        let failure = |failure: &'static lab::Scenario| FailureView {
            id: &failure.id,
            faults: &failure.faults,
            points: &failure.points,
        };
        Self {
            format: 1,
            mode,
            mistakes: Mistake::ALL.into_iter().map(mistake).collect(),
            failures: catalogue.failures.iter().map(failure).collect(),
            presets: &catalogue.presets,
            rows: &catalogue.rows,
            expected: &catalogue.expected,
            sources: SOURCES.iter().map(|(path, _)| *path).collect(),
            cells,
        }
    }
}
