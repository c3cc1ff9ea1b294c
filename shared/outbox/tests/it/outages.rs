//! Broker or database are away: it costs no row anything, and the relay goes on by itself.

use outbox::{Pass, RelayError, RelayOptions};
use test_kit::eventually;
use transport::LinkState;

use crate::bench::{Outbox, message, quick};

on_both_databases!(
    no_row_is_claimed_while_no_session_can_be_opened,
    a_session_that_died_while_idle_is_replaced_before_anything_is_claimed,
    a_running_relay_survives_an_outage_of_the_broker_and_no_row_pays_for_it,
    a_running_relay_survives_an_outage_of_the_database,
);

async fn no_row_is_claimed_while_no_session_can_be_opened(outbox: Outbox) {
    outbox.append(message("a", 1)).await;
    let before = outbox.row("a", 1).await;
    assert!(before.is_unclaimed() && before.retry_count == 0);
    outbox.broker.set_away(true);

    let mut relay = outbox.relay(RelayOptions { max_retries: 1, ..quick() });
    for _ in 0..5 {
        let error = relay.run_once().await.expect_err("the broker is away");
        assert!(matches!(error, RelayError::Broker(_)), "{error}");
        assert_eq!(outbox.row("a", 1).await, before);
    }
    outbox.broker.set_away(false);
    let pass = relay.run_once().await.expect("a pass");

    assert_eq!(pass, Pass::Moved { claimed: 1, sent: 1 });
    assert_eq!(outbox.broker.published().len(), 1);
}

async fn a_session_that_died_while_idle_is_replaced_before_anything_is_claimed(outbox: Outbox) {
    let mut relay = outbox.relay(quick());
    assert_eq!(relay.run_once().await.expect("a pass"), Pass::Idle);
    outbox.append(message("a", 1)).await;
    let before = outbox.row("a", 1).await;

    outbox.broker.break_open_sessions();
    let error = relay.run_once().await.expect_err("the session is dead");
    assert!(matches!(error, RelayError::Broker(_)), "{error}");
    assert_eq!(outbox.row("a", 1).await, before);

    let pass = relay.run_once().await.expect("a pass");
    assert_eq!(pass, Pass::Moved { claimed: 1, sent: 1 });
    assert_eq!(outbox.broker.sessions_opened(), 2);
}

async fn a_running_relay_survives_an_outage_of_the_broker_and_no_row_pays_for_it(outbox: Outbox) {
    outbox.broker.set_away(true);
    outbox.append_versions("a", [1, 2, 3]).await;
    let before = outbox.all_rows().await;

    let relay = outbox.relay(RelayOptions { max_retries: 1, ..quick() });
    let mut broker = relay.health().broker;
    let shutdown = tokio_util::sync::CancellationToken::new();
    let running = tokio::spawn(relay.run(shutdown.clone()));
    eventually("it tries again and again", async || outbox.broker.sessions_refused() >= 3).await;
    assert!(matches!(*broker.borrow(), LinkState::Down(_)));
    assert_eq!(outbox.all_rows().await, before);

    outbox.broker.set_away(false);
    eventually("the backlog is sent", async || outbox.counts().await.sent == 3).await;
    broker.wait_for(|state| *state == LinkState::Up).await.expect("the relay lives");
    shutdown.cancel();
    running.await.expect("no panic");

    assert_eq!(outbox.broker.versions()["a"], [1, 2, 3]);
    assert!(outbox.all_rows().await.iter().all(|row| row.retry_count == 0));
}

async fn a_running_relay_survives_an_outage_of_the_database(outbox: Outbox) {
    outbox.execute("ALTER TABLE outbox_messages RENAME TO away").await;
    let relay = outbox.relay(quick());
    let mut database = relay.health().database;
    let shutdown = tokio_util::sync::CancellationToken::new();
    let running = tokio::spawn(relay.run(shutdown.clone()));
    let down = |state: &LinkState| matches!(state, LinkState::Down(_));
    database.wait_for(down).await.expect("the relay lives");

    outbox.execute("ALTER TABLE away RENAME TO outbox_messages").await;
    outbox.append(message("a", 1)).await;
    eventually("it is sent", async || outbox.counts().await.sent == 1).await;
    database.wait_for(|state| *state == LinkState::Up).await.expect("the relay lives");
    shutdown.cancel();
    running.await.expect("no panic");

    assert_eq!(outbox.broker.published().len(), 1);
}
