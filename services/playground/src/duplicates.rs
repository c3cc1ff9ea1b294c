//! How many known duplicates the inboxes have dropped: their own metrics say it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};

use crate::services::Services;

/// The services are asked at most this often, however many people look.
const INTERVAL: Duration = Duration::from_secs(1);

const METRIC: &str = "inbox_duplicates_total ";

/// Asks both services whenever somebody has `looked`, and else leaves them alone. `None`: one of them
/// does not say.
pub(crate) fn count(
    services: Services,
    looked: Arc<Notify>,
) -> (impl Future<Output = ()> + Send, watch::Receiver<Option<u64>>) {
    let (counted, count) = watch::channel(None);
    let counting = async move {
        loop {
            looked.notified().await;
            let places = &services.places;
            let (orders, inventory) =
                tokio::join!(services.metrics(&places.orders), services.metrics(&places.inventory));
            let both = orders.as_deref().and_then(read).zip(inventory.as_deref().and_then(read));
            counted.send_replace(both.map(|(orders, inventory)| orders + inventory));
            tokio::time::sleep(INTERVAL).await;
        }
    };
    (counting, count)
}

fn read(metrics: &str) -> Option<u64> {
    metrics.lines().find_map(|line| line.strip_prefix(METRIC))?.parse().ok()
}
