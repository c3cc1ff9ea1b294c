use std::time::Duration;

use clap::{Args, Subcommand};
use outbox::dead_letters::{
    self, ActionError, By, Cursor, Filter, Horizon, MessageKey, Run, Selection, State, discard,
    retry, retry_many,
};
use serde_json::json;
use service_kit::admin::{Actor, Before, Why};
use service_kit::settings::duration;

use super::{Target, database_error, print};

/// What to do with dead messages
#[derive(Debug, Clone, Subcommand)]
pub enum Dead {
    /// Lists messages, newest first; pending ones by the time when they are due, last first
    List(List),
    /// Shows everything about one message
    Show(Show),
    /// Gives dead messages all their tries again
    Retry(Retry),
    /// Gives a dead message up for good; what waits behind it flows
    Discard(Discard),
}

/// Which messages to list
#[derive(Debug, Clone, Args)]
pub struct List {
    /// pending, sent, dead or discarded
    #[arg(long, default_value = "dead")]
    pub state: State,

    /// Only messages of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,

    /// Messages at most, 1 to 200
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=200))]
    pub limit: u64,

    /// Go on after an earlier list: what it named as the next cursor
    #[arg(long)]
    pub cursor: Option<Cursor>,

    #[command(flatten)]
    #[allow(missing_docs, reason = "the group documents itself")]
    pub target: Target,
}

/// Which message to show
#[derive(Debug, Clone, Args)]
pub struct Show {
    /// Which message
    pub message_id: MessageKey,

    #[command(flatten)]
    #[allow(missing_docs, reason = "the group documents itself")]
    pub target: Target,
}

/// Which messages to retry
#[derive(Debug, Clone, Args)]
pub struct Retry {
    /// Which message
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub message_id: Option<MessageKey>,

    /// All dead messages, or those that --type and --before select
    #[arg(long)]
    pub all: bool,

    /// With --all: only messages of this type
    #[arg(long = "type", value_name = "TYPE", requires = "all")]
    pub kind: Option<String>,

    /// With --all: only messages that were written before this time, such as 2026-11-30T18:00:00Z
    #[arg(long, requires = "all")]
    pub before: Option<Before>,

    /// With --all: only count them
    #[arg(long, requires = "all")]
    pub dry_run: bool,

    /// Also messages that are older than the inbox retention
    #[arg(long)]
    pub force: bool,

    /// The receivers' inboxes remember a message for so long
    #[arg(long, env, default_value = "14d", value_parser = duration)]
    pub inbox_retention: Duration,

    /// Why
    #[arg(long)]
    pub reason: Option<Why>,

    #[command(flatten)]
    #[allow(missing_docs, reason = "the group documents itself")]
    pub who: Who,

    #[command(flatten)]
    #[allow(missing_docs, reason = "the group documents itself")]
    pub target: Target,
}

/// Which message to discard
#[derive(Debug, Clone, Args)]
pub struct Discard {
    /// Which message
    pub message_id: MessageKey,

    /// Why
    #[arg(long)]
    pub reason: Why,

    #[command(flatten)]
    #[allow(missing_docs, reason = "the group documents itself")]
    pub who: Who,

    #[command(flatten)]
    #[allow(missing_docs, reason = "the group documents itself")]
    pub target: Target,
}

/// Who acts
#[derive(Debug, Clone, Args)]
pub struct Who {
    /// Who acts; $USER unless given
    #[arg(long)]
    pub actor: Option<Actor>,
}

impl Who {
    fn name(&self) -> String {
        let user = || std::env::var("USER").ok().and_then(|user| user.parse().ok());
        let actor = self.actor.clone().or_else(user);
        actor.map_or_else(|| "cli".to_owned(), |actor: Actor| actor.as_str().to_owned())
    }
}

pub(super) async fn run(dead: Dead) -> anyhow::Result<()> {
    match dead {
        Dead::List(list) => run_list(list).await,
        Dead::Show(show) => run_show(show).await,
        Dead::Retry(retry) => run_retry(retry).await,
        Dead::Discard(discard) => run_discard(discard).await,
    }
}

async fn run_list(list: List) -> anyhow::Result<()> {
    let filter = Filter { state: Some(list.state), kind: list.kind, cursor: list.cursor };
    let found = dead_letters::list(&list.target.open()?, &filter, list.limit + 1).await;
    print::list(found.map_err(database_error)?, list.limit, list.target.json)
}

async fn run_show(show: Show) -> anyhow::Result<()> {
    let found = dead_letters::show(&show.target.open()?, show.message_id.clone()).await;
    let found = found.map_err(database_error)?;
    let details = found.ok_or(ActionError::NotFound(show.message_id))?;
    print::details(&details, show.target.json)
}

async fn run_retry(command: Retry) -> anyhow::Result<()> {
    let db = command.target.open()?;
    let by = By { actor: command.who.name(), reason: command.reason.map(String::from) };
    let horizon = match command.force {
        true => Horizon::Forced,
        false => Horizon::Within(command.inbox_retention),
    };
    if let Some(id) = command.message_id {
        retry(&db, id.clone(), &by, horizon).await.map_err(action_error)?;
        let json = json!({"messageId": id, "state": State::Pending});
        return print::line(&format!("{id} is pending again"), &json, command.target.json);
    }
    let before = command.before.map(|before| before.0);
    let selection = Selection { kind: command.kind, before };
    let run = if command.dry_run { Run::Dry } else { Run::Real };
    let retried = retry_many(&db, &selection, &by, horizon, run).await.map_err(database_error)?;
    print::retried(retried, command.dry_run, command.target.json)
}

async fn run_discard(command: Discard) -> anyhow::Result<()> {
    let db = command.target.open()?;
    let (id, actor) = (command.message_id, command.who.name());
    discard(&db, id.clone(), &actor, command.reason.as_str()).await.map_err(action_error)?;
    let json = json!({"messageId": id, "state": State::Discarded});
    print::line(&format!("{id} is discarded"), &json, command.target.json)
}

fn action_error(error: ActionError) -> anyhow::Error {
    match error {
        ActionError::Database(error) => database_error(error),
        error => error.into(),
    }
}
