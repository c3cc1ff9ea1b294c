use std::sync::Arc;
use std::time::Duration;

use service_kit::healthcheck::{self, NotReady};
use tokio::sync::{Notify, watch};

use crate::process_view::{Control, ProcessView, State};
use crate::service_url::ServiceUrl;
use crate::services::Services;

/// A process is asked for its state at most this often, however many people look.
const INTERVAL: Duration = Duration::from_secs(1);

/// Asks a process how it is whenever somebody has `looked`, and else leaves it alone. `seen` is how it
/// looks before the first answer.
pub(super) fn of(
    seen: ProcessView,
    url: ServiceUrl,
    services: Services,
    looked: Arc<Notify>,
) -> (impl Future<Output = ()> + Send, watch::Receiver<ProcessView>) {
    let (view, views) = watch::channel(seen);
    let asking = async move {
        loop {
            looked.notified().await;
            let (state, reason) = state(healthcheck::ask(url.place()).await);
            // When it is there for the first time, or again: it may be another build.
            if view.borrow().state != state && state == State::Ready {
                let can = controls(&services, &url).await;
                view.send_modify(|view| view.can = can);
            }
            view.send_modify(|view| (view.state, view.reason) = (state, reason));
            tokio::time::sleep(INTERVAL).await;
        }
    };
    (asking, views)
}

/// It can be killed if it is built for that, and the page may ask it.
async fn controls(services: &Services, url: &ServiceUrl) -> Vec<Control> {
    let possible = cfg!(feature = "lab") && services.has_token() && services.has_lab(url).await;
    if possible { vec![Control::Kill] } else { vec![] }
}

fn state(answer: Result<(), NotReady>) -> (State, Option<String>) {
    match answer {
        Ok(()) => (State::Ready, None),
        Err(reason @ NotReady::Checks(_)) => (State::NotReady, Some(reason.to_string())),
        Err(reason) => (State::Unreachable, Some(reason.to_string())),
    }
}
