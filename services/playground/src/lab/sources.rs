//! The source files that steps and chapters point to, as they were when this program was built.

/// Files by their paths in the repository.
macro_rules! sources {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../", $path)))),+]
    };
}

/// What can be read on the page.
pub(crate) const SOURCES: &[(&str, &str)] = sources![
    "services/inventory-service/src/decision.rs",
    "services/inventory-service/src/lab/inbox_forgets_too_soon.rs",
    "services/inventory-service/src/lab/mod.rs",
    "services/inventory-service/src/lab/no_version_order.rs",
    "services/inventory-service/src/lab/take_again.rs",
    "services/inventory-service/src/lab/text_message.rs",
    "services/inventory-service/src/lab/text_message_without_key.rs",
    "services/inventory-service/src/order_events.rs",
    "services/inventory-service/src/release.rs",
    "services/inventory-service/src/reserve.rs",
    "services/order-service/src/cancel_order.rs",
    "services/order-service/src/idempotency.rs",
    "services/order-service/src/lab/mod.rs",
    "services/order-service/src/lab/no_idempotency_key.rs",
    "services/order-service/src/lab/publish_after_commit.rs",
    "services/order-service/src/lab/publish_before_commit.rs",
    "services/order-service/src/place_order.rs",
    "services/order-service/src/stock_results.rs",
    "shared/inbox/src/attempts.rs",
    "shared/inbox/src/lane.rs",
    "shared/inbox/src/process.rs",
    "shared/inbox/src/retention.rs",
    "shared/inbox/src/transaction.rs",
    "shared/inbox/src/turns.rs",
    "shared/inbox/src/worker.rs",
    "shared/mistakes/src/ack_before_commit.rs",
    "shared/mistakes/src/claim_without_lock.rs",
    "shared/mistakes/src/confirm_lost.rs",
    "shared/mistakes/src/direct.rs",
    "shared/mistakes/src/inbox_in_another_transaction.rs",
    "shared/mistakes/src/mark_before_confirm.rs",
    "shared/mistakes/src/no_inbox.rs",
    "shared/mistakes/src/publish_without_mandatory.rs",
    "shared/mistakes/src/retry_for_ever.rs",
    "shared/mistakes/src/textbook.rs",
    "shared/outbox/src/append.rs",
    "shared/outbox/src/batch.rs",
    "shared/outbox/src/claim.rs",
    "shared/outbox/src/desk.rs",
    "shared/outbox/src/message.rs",
    "shared/outbox/src/relay.rs",
    "shared/outbox/src/retention/store.rs",
    "shared/outbox/src/store.rs",
    "shared/service-kit/src/settings.rs",
    "shared/transport/src/rabbitmq/accounting.rs",
    "shared/transport/src/rabbitmq/batch.rs",
    "shared/transport/src/rabbitmq/publisher.rs",
];

/// The text of one of them.
pub(crate) fn source(path: &str) -> Option<&'static str> {
    SOURCES.iter().find(|(known, _)| *known == path).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use mistakes::Mistake;

    use super::*;

    #[test]
    fn the_file_of_each_mistake_can_be_read() {
        for mistake in Mistake::ALL {
            assert!(source(mistake.source()).is_some(), "{}", mistake.source());
        }
    }
}
