use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// A process as the page shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ProcessView {
    /// How calls name it.
    pub(crate) id: &'static str,
    /// How people call it.
    pub(crate) name: &'static str,
    pub(crate) url: String,
    pub(crate) state: State,
    /// Why it is not ready, where somebody asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// What only its parent knows.
    #[serde(flatten)]
    pub(crate) child: Option<ChildView>,
    /// What the page can do to it here.
    pub(crate) can: Vec<Control>,
    /// What to type to freeze it, where the page can't.
    pub(crate) command: Option<String>,
}

/// How a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// A child that runs.
    Running,
    /// A child that was told to hold still: it has all that it had, and does nothing.
    Frozen,
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

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Running => "running",
            Self::Frozen => "frozen",
            Self::Restarting => "being started again",
            Self::Unknown => "unknown",
            Self::Ready => "ready",
            Self::NotReady => "not ready",
            Self::Unreachable => "unreachable",
        })
    }
}

/// A process that we have started ourselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ChildView {
    pub(crate) pid: Option<u32>,
    pub(crate) restarts: u32,
}

/// What people may do to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Control {
    /// Ends it at once, as a crash does. It is started again.
    Kill,
    /// Holds it still.
    Freeze,
    /// Lets it go on.
    Thaw,
    /// Stops it in an orderly way, then starts it.
    Restart,
}

impl Control {
    pub(crate) const ALL: [Self; 4] = [Self::Kill, Self::Freeze, Self::Thaw, Self::Restart];
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kill => "kill",
            Self::Freeze => "freeze",
            Self::Thaw => "thaw",
            Self::Restart => "restart",
        })
    }
}

/// The text is no [`Control`].
#[derive(Debug, thiserror::Error)]
#[error("expected kill, freeze, thaw or restart")]
pub(crate) struct InvalidControl;

impl FromStr for Control {
    type Err = InvalidControl;

    fn from_str(text: &str) -> Result<Self, InvalidControl> {
        Self::ALL.into_iter().find(|control| control.to_string() == text).ok_or(InvalidControl)
    }
}

/// Why a control was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// Its state forbids it.
    #[error("{name} can't be told to {control}: it is {state}")]
    State { name: &'static str, control: Control, state: String },
    /// The system forbids it.
    #[error("{name} could not be told to {control}: {reason}")]
    System { name: &'static str, control: Control, reason: String },
    /// The shop is being closed.
    #[error("the shop is being closed")]
    Closing,
}
