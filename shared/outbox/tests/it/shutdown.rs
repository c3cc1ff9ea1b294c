//! A relay that is told to stop finishes what is in flight and leaves nothing claimed.

use outbox::RelayOptions;
use test_kit::eventually;
use transport::Outcome;

use crate::bench::{HOUR, Outbox, message, quick};
use crate::broker::aggregate;

on_both_databases!(
    a_relay_that_stops_in_mid_publish_marks_what_was_confirmed_and_leaves_no_claim,
    a_relay_that_stops_while_it_waits_ends_at_once,
);

async fn a_relay_that_stops_in_mid_publish_marks_what_was_confirmed_and_leaves_no_claim(
    outbox: Outbox,
) {
    for aggregate in ["confirmed", "unknown", "not-claimed"] {
        outbox.append(message(aggregate, 1)).await;
    }
    outbox.broker.answer(|message| match aggregate(message).as_str() {
        "unknown" => Outcome::Unknown,
        _ => Outcome::Confirmed,
    });
    let gate = outbox.broker.hold_next_publish();
    let options = RelayOptions { batch_size: 2, batches_in_flight: 1, ..quick() };
    let running = outbox.run_relay(options);
    gate.reached().await;

    running.shutdown.cancel();
    gate.open();
    running.ended().await;

    assert_eq!(outbox.row("confirmed", 1).await.status, "Sent");
    for aggregate in ["unknown", "not-claimed"] {
        let row = outbox.row(aggregate, 1).await;
        assert_eq!((row.status.as_str(), row.retry_count), ("Pending", 0), "{aggregate}");
    }
    assert!(outbox.all_rows().await.iter().all(|row| row.is_unclaimed()));
    assert_eq!(outbox.broker.batches().len(), 1, "nothing new after the order to stop");
}

async fn a_relay_that_stops_while_it_waits_ends_at_once(outbox: Outbox) {
    // It waits for its poll in an hour, or for the broker.
    for away in [false, true] {
        outbox.broker.set_away(away);
        let running = outbox.run_relay(RelayOptions { poll_interval: HOUR, ..quick() });
        let broker = &outbox.broker;
        let tried =
            async || if away { broker.sessions_refused() } else { broker.sessions_opened() } > 0;
        eventually("it has begun", tried).await;
        running.stop().await;
    }
}
