//! The relay looks at once when somebody says so, and by itself when nobody does.

use outbox::RelayOptions;
use test_kit::eventually;
use tokio_util::sync::CancellationToken;

use crate::bench::{HOUR, Outbox, append_on, message, quick};

on_both_databases!(
    a_hint_in_the_same_process_wakes_a_relay_that_would_sleep_for_an_hour,
    a_commit_and_hint_on_another_connection_wake_a_relay_that_would_sleep_for_an_hour,
    without_any_hint_the_poll_finds_the_row,
);

fn sleeper() -> RelayOptions {
    RelayOptions { poll_interval: HOUR, ..quick() }
}

async fn a_hint_in_the_same_process_wakes_a_relay_that_would_sleep_for_an_hour(outbox: Outbox) {
    let relay = outbox.relay(sleeper());
    let hint = relay.hint();
    let shutdown = CancellationToken::new();
    let running = tokio::spawn(relay.run(shutdown.clone()));

    for version in 1..=20 {
        outbox.append(message("a", version)).await;
        hint.give();
        eventually("it is published", async || outbox.counts().await.sent == version).await;
    }
    shutdown.cancel();
    running.await.expect("no panic");
}

async fn a_commit_and_hint_on_another_connection_wake_a_relay_that_would_sleep_for_an_hour(
    outbox: Outbox,
) {
    let running = outbox.run_relay(sleeper());
    let writer = outbox.another_pool();
    let sender = outbox::hint_sender(&writer, running.shutdown.clone());

    for version in 1..=20 {
        append_on(&writer, message("a", version)).await;
        sender.send();
        eventually("it is published", async || outbox.counts().await.sent == version).await;
    }
    running.stop().await;
}

/// On SQLite the watcher of the file may be first; it is no hint that the writer gave.
async fn without_any_hint_the_poll_finds_the_row(outbox: Outbox) {
    let running = outbox.run_relay(quick());
    for version in 1..=3 {
        outbox.append(message("a", version)).await;
        eventually("it is published", async || outbox.counts().await.sent == version).await;
    }
    running.stop().await;
}
