use serde::Serialize;

/// A process as the page shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ProcessView {
    pub(crate) name: &'static str,
    pub(crate) url: String,
    pub(crate) state: State,
    /// Why it is not ready, where somebody asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// What only its parent knows.
    #[serde(flatten)]
    pub(crate) child: Option<ChildView>,
}

/// How a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// A child that runs.
    Running,
    /// A child that is started again.
    Restarting,
    /// Not asked yet.
    Unknown,
    /// It says that it is ready.
    Ready,
    /// It says that it is not.
    #[serde(rename = "not ready")]
    NotReady,
    /// It says nothing.
    Unreachable,
}

/// A process that we have started ourselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ChildView {
    pub(crate) pid: Option<u32>,
    pub(crate) restarts: u32,
}
