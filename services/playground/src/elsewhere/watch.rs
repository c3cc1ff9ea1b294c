use std::sync::Arc;
use std::time::Duration;

use service_kit::healthcheck::{self, NotReady};
use tokio::sync::{Notify, watch};

use crate::process_view::{ProcessView, State};
use crate::service_url::ServiceUrl;

/// A process is asked for its state at most this often, however many people look.
const INTERVAL: Duration = Duration::from_secs(1);

/// Asks a process how it is whenever somebody has `looked`, and else leaves it alone.
pub(super) fn of(
    name: &'static str,
    url: ServiceUrl,
    looked: Arc<Notify>,
) -> (impl Future<Output = ()> + Send, watch::Receiver<ProcessView>) {
    let (view, views) = watch::channel(ProcessView {
        name,
        url: url.to_string(),
        state: State::Unknown,
        reason: None,
        child: None,
    });
    let asking = async move {
        loop {
            looked.notified().await;
            let (state, reason) = state(healthcheck::ask(url.place()).await);
            view.send_modify(|view| (view.state, view.reason) = (state, reason));
            tokio::time::sleep(INTERVAL).await;
        }
    };
    (asking, views)
}

fn state(answer: Result<(), NotReady>) -> (State, Option<String>) {
    match answer {
        Ok(()) => (State::Ready, None),
        Err(reason @ NotReady::Checks(_)) => (State::NotReady, Some(reason.to_string())),
        Err(reason) => (State::Unreachable, Some(reason.to_string())),
    }
}
