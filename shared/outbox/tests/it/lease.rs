//! A relay that dies or freezes: its lease ends, another one goes on, and it can't undo that.

use std::time::Duration;

use outbox::{Pass, Relay, RelayError, RelayOptions, RelayTotals};
use test_kit::eventually_some;
use tokio::task::JoinHandle;
use transport::Outcome;

use crate::bench::{Outbox, message, quick};
use crate::broker::Gate;

on_both_databases!(
    a_relay_frozen_past_its_lease_changes_nothing_when_another_has_marked_the_row,
    a_relay_frozen_past_its_lease_marks_nothing_while_another_holds_the_row,
    a_relay_frozen_past_its_lease_costs_the_row_no_try_while_another_holds_it,
    the_rows_of_a_relay_that_died_are_published_by_another_with_the_same_id,
    a_row_is_never_claimed_before_its_lease_has_ended,
);

/// The shortest lease that there is.
fn short_lease() -> RelayOptions {
    RelayOptions { owner: "frozen".to_owned(), lease: Duration::from_millis(500), ..quick() }
}

/// A relay that stands in the middle of a publish, with a short lease on the row.
async fn frozen_relay(
    outbox: &Outbox,
) -> (JoinHandle<Result<Pass, RelayError>>, Gate, RelayTotals) {
    outbox.append(message("a", 1)).await;
    let gate = outbox.broker.hold_next_publish();
    let mut relay = outbox.relay(short_lease());
    let totals = relay.totals();
    let pass = tokio::spawn(async move { relay.run_once().await });
    gate.reached().await;
    assert_eq!(outbox.row("a", 1).await.claimed_by.as_deref(), Some("frozen"));
    (pass, gate, totals)
}

/// Passes until there was something to do.
async fn next_pass(relay: Relay) -> Pass {
    let relay = tokio::sync::Mutex::new(relay);
    eventually_some("the lease has ended", async || {
        let pass = relay.lock().await.run_once().await.expect("a pass");
        (pass != Pass::Idle).then_some(pass)
    })
    .await
}

async fn a_relay_frozen_past_its_lease_changes_nothing_when_another_has_marked_the_row(
    outbox: Outbox,
) {
    let (frozen, gate, _) = frozen_relay(&outbox).await;
    let other = next_pass(outbox.relay(quick())).await;
    assert_eq!(other, Pass::Moved { claimed: 1, sent: 1 });
    let marked = outbox.row("a", 1).await;
    assert_eq!(marked.status, "Sent");

    outbox.broker.answer(|_| Outcome::Nacked);
    gate.open();

    let woken = frozen.await.expect("no panic").expect("a pass");
    assert_eq!(woken, Pass::Moved { claimed: 1, sent: 0 });
    assert_eq!(outbox.row("a", 1).await, marked);
}

async fn a_relay_frozen_past_its_lease_marks_nothing_while_another_holds_the_row(outbox: Outbox) {
    assert_the_others_claim_stands(&outbox, Outcome::Confirmed).await;
}

async fn a_relay_frozen_past_its_lease_costs_the_row_no_try_while_another_holds_it(outbox: Outbox) {
    assert_the_others_claim_stands(&outbox, Outcome::Nacked).await;
}

async fn assert_the_others_claim_stands(outbox: &Outbox, answer: Outcome) {
    let (frozen, gate, totals) = frozen_relay(outbox).await;
    let others_gate = outbox.broker.hold_next_publish();
    let other = RelayOptions { owner: "other".to_owned(), ..quick() };
    let other = tokio::spawn(next_pass(outbox.relay(other)));
    others_gate.reached().await;
    let held = outbox.row("a", 1).await;
    assert_eq!((held.status.as_str(), held.claimed_by.as_deref()), ("Pending", Some("other")));

    outbox.broker.answer(move |_| answer.clone());
    gate.open();
    let woken = frozen.await.expect("no panic").expect("a pass");
    assert_eq!(woken, Pass::Moved { claimed: 1, sent: 0 });
    assert_eq!(totals.read().lease_conflicts, 1, "an answer that came too late is counted");
    assert_eq!(outbox.row("a", 1).await, held);

    outbox.broker.answer(|_| Outcome::Confirmed);
    others_gate.open();
    assert_eq!(other.await.expect("no panic"), Pass::Moved { claimed: 1, sent: 1 });
    let row = outbox.row("a", 1).await;
    assert_eq!((row.status.as_str(), row.retry_count), ("Sent", 0));
}

async fn the_rows_of_a_relay_that_died_are_published_by_another_with_the_same_id(outbox: Outbox) {
    let (dying, _gate, _) = frozen_relay(&outbox).await;
    dying.abort();
    assert!(dying.await.expect_err("it is dead").is_cancelled());

    let other = next_pass(outbox.relay(quick())).await;

    assert_eq!(other, Pass::Moved { claimed: 1, sent: 1 });
    let published = outbox.broker.published();
    assert_eq!(published.len(), 2);
    assert_eq!(published[0], published[1]);
    let row = outbox.row("a", 1).await;
    assert_eq!((row.status.as_str(), row.retry_count), ("Sent", 0), "a crash costs no try");
}

async fn a_row_is_never_claimed_before_its_lease_has_ended(outbox: Outbox) {
    outbox.append(message("a", 1)).await;
    let gate = outbox.broker.hold_next_publish();
    let mut relay = outbox.relay(quick());
    let pass = tokio::spawn(async move { relay.run_once().await });
    gate.reached().await;

    let mut other = outbox.relay(quick());
    for _ in 0..20 {
        assert_eq!(other.run_once().await.expect("a pass"), Pass::Idle);
    }

    gate.open();
    assert_eq!(pass.await.expect("no panic").expect("a pass"), Pass::Moved { claimed: 1, sent: 1 });
    assert_eq!(outbox.broker.published().len(), 1);
}
