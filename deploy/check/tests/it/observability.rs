//! Metrics that are read are metrics that there are.

use crate::overlay::read;

/// Metrics of the shop that are not in the contract yet.
const AWAITED: [&str; 12] = [
    "inbox_duplicates_total",
    "inbox_parked_messages",
    "inbox_parked_total",
    "inbox_processed_total",
    "outbox_dead_messages",
    "outbox_lease_conflicts_total",
    "outbox_oldest_pending_age_seconds",
    "outbox_pending_messages",
    "outbox_sent_total",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "orders_placed_total",
];

/// Whether one of the shop's programs has a metric of this name.
pub(crate) fn is_ours(name: &str) -> bool {
    AWAITED.contains(&name) || read("docs/contract.md").contains(&format!("| `{name}`"))
}
