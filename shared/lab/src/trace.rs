//! What a run has recorded: steps, what the tables held after each of them, and the verdict.

use std::collections::BTreeMap;

use mistakes::Mistakes;
use serde::{Deserialize, Serialize};

/// What came of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// As many effects as orders, each once.
    ExactlyOneEffect,
    /// An order without an effect, and nothing left that would bring it: a *zombie record*.
    Lost,
    /// An effect without an order, or for one that is no more: a *ghost*.
    Ghost,
    /// More effects than orders.
    Duplicated,
    /// Something waits, and nobody works on it.
    Stuck,
    /// The failure did not happen: the program has no such place.
    Void,
}

impl Verdict {
    /// As people read it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::ExactlyOneEffect => "EXACTLY ONE EFFECT",
            Self::Lost => "LOST",
            Self::Ghost => "GHOST",
            Self::Duplicated => "DUPLICATED",
            Self::Stuck => "STUCK",
            Self::Void => "VOID",
        }
    }
}

/// A run, from its first step to its verdict.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Trace {
    /// The version of this form.
    pub format: u32,
    /// What the programs did wrong.
    pub mistakes: Mistakes,
    /// What happened to them.
    pub failure: String,
    /// On what they ran.
    pub backing: String,
    /// What came of it.
    pub verdict: Verdict,
    /// Why.
    pub because: Vec<Because>,
    /// The figures behind it.
    pub equation: Equation,
    /// How long it took, the start of the processes included.
    pub milliseconds: u64,
    /// What happened, in order.
    pub steps: Vec<Step>,
    /// What the tables held.
    pub states: Vec<State>,
}

/// Orders on one side, effects on the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Equation {
    /// Orders that the client wants, and has not cancelled.
    pub wanted: u64,
    /// Orders in the database that are in force.
    pub accepted: u64,
    /// Pieces reserved. Each order is for one.
    pub reservations: i64,
    /// Text messages that customers got.
    pub text_messages: u64,
}

/// One reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Because {
    /// A word for programs.
    pub code: String,
    /// Which order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// How often.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<i64>,
}

/// Something that happened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Milliseconds since the start of the run.
    pub at: u64,
    /// Who did it.
    pub actor: String,
    /// What.
    pub kind: String,
    /// At which point of the code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<String>,
    /// Of the client: `place`, `retry`, `cancel`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    /// Of the client: the status of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// About which order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// The line of code that did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Which of the states holds after it.
    pub state: usize,
}

/// A line of code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The path in the repository.
    pub file: String,
    /// The line.
    pub line: u32,
}

/// What databases and broker hold at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names are those of the tables")]
pub struct State {
    /// running, killed, held, absent.
    pub processes: BTreeMap<String, String>,
    /// running, stopped.
    pub broker: String,
    pub orders: Vec<Order>,
    pub orders_outbox: Vec<OutboxRow>,
    pub queues: Vec<Queue>,
    pub inventory_inbox: Vec<InboxRow>,
    pub reservations: Vec<Order>,
    pub stock: Vec<Stock>,
    pub inventory_outbox: Vec<OutboxRow>,
    pub orders_inbox: Vec<InboxRow>,
    pub parked: Vec<Parked>,
    pub text_messages: Vec<TextMessage>,
}

/// An order, or what inventory has decided about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Order {
    pub order: String,
    pub status: String,
}

/// A row of an outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct OutboxRow {
    pub message: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub order: String,
    pub status: String,
    pub claimed_by: Option<String>,
    pub tries: i64,
}

/// A queue of the broker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Queue {
    pub queue: String,
    pub ready: u64,
    /// Null where the broker does not tell.
    pub unacked: Option<u64>,
    /// What is in it, where the broker tells.
    pub messages: Vec<Queued>,
}

/// A message in a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Queued {
    pub message: Option<String>,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub order: Option<String>,
    pub deliveries: i64,
    pub unacked: bool,
}

/// A row of an inbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct InboxRow {
    pub message: String,
}

/// A row of `stock_items`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Stock {
    pub sku: String,
    pub on_hand: i64,
    pub reserved: i64,
}

/// A parked message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Parked {
    pub message: Option<String>,
    pub reason: String,
}

/// What a customer's telephone shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct TextMessage {
    pub order: String,
    pub times: u64,
}
