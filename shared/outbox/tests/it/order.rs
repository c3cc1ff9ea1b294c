//! Messages of one aggregate are published in the order of their versions, come what may.

use std::collections::HashSet;

use futures_util::future::join_all;
use outbox::{Pass, RelayOptions};
use test_kit::eventually;
use transport::Outcome;

use crate::bench::{HOUR, Outbox, message, quick};
use crate::broker::{aggregate, version};

on_both_databases!(
    one_pass_publishes_only_the_head_of_an_aggregate,
    versions_are_published_in_their_order_also_when_they_were_written_in_another,
    the_same_id_under_another_type_is_another_aggregate,
    a_failing_head_holds_back_its_own_aggregate_and_no_other,
    a_dead_head_holds_its_aggregate_back,
    a_head_in_flight_holds_its_aggregate_back_from_every_other_relay,
    several_relays_publish_each_row_once_and_each_aggregate_in_order,
);

async fn one_pass_publishes_only_the_head_of_an_aggregate(outbox: Outbox) {
    outbox.append_versions("a", [1, 2, 3]).await;
    let mut relay = outbox.relay(quick());

    for expected in [1, 2, 3] {
        let pass = relay.run_once().await.expect("a pass");
        assert_eq!(pass, Pass::Moved { claimed: 1, sent: 1 });
        let published = outbox.broker.published();
        assert_eq!(published.last().map(version), Some(expected));
    }
    assert_eq!(relay.run_once().await.expect("a pass"), Pass::Idle);
    assert_eq!(outbox.broker.versions()["a"], [1, 2, 3]);
}

async fn versions_are_published_in_their_order_also_when_they_were_written_in_another(
    outbox: Outbox,
) {
    outbox.append_versions("a", [3, 1, 2]).await;
    let mut relay = outbox.relay(quick());
    while relay.run_once().await.expect("a pass") != Pass::Idle {}
    assert_eq!(outbox.broker.versions()["a"], [1, 2, 3]);
}

async fn the_same_id_under_another_type_is_another_aggregate(outbox: Outbox) {
    for (kind, version) in [("order", 1), ("invoice", 2), ("order", 3)] {
        let message = outbox::NewMessage::new(kind, "a", version, "Happened", &0).expect("JSON");
        outbox.append(message).await;
    }
    outbox.relay(quick()).run_once().await.expect("a pass");
    assert_eq!(outbox.broker.versions()["a"], [1, 2], "the head of each");
}

async fn a_failing_head_holds_back_its_own_aggregate_and_no_other(outbox: Outbox) {
    outbox.append_versions("failing", [1, 2]).await;
    outbox.append_versions("unroutable", [1, 2]).await;
    outbox.append_versions("healthy", [1, 2]).await;
    outbox.broker.answer(|message| match aggregate(message).as_str() {
        "failing" => Outcome::Nacked,
        "unroutable" => Outcome::Unroutable("no queue".to_owned()),
        _ => Outcome::Confirmed,
    });

    let options = RelayOptions { backoff_base: HOUR, unroutable_interval: HOUR, ..quick() };
    let mut relay = outbox.relay(options);
    while relay.run_once().await.expect("a pass") != Pass::Idle {}

    let versions = outbox.broker.versions();
    assert_eq!(versions["failing"], [1]);
    assert_eq!(versions["unroutable"], [1]);
    assert_eq!(versions["healthy"], [1, 2]);
}

async fn a_dead_head_holds_its_aggregate_back(outbox: Outbox) {
    outbox.append_versions("a", [1, 2]).await;
    outbox.append_versions("b", [1, 2]).await;
    outbox.broker.answer(|message| match aggregate(message).as_str() {
        "a" => Outcome::Nacked,
        _ => Outcome::Confirmed,
    });
    let mut relay = outbox.relay(RelayOptions { max_retries: 1, ..quick() });
    while relay.run_once().await.expect("a pass") != Pass::Idle {}

    assert_eq!(outbox.row("a", 1).await.status, "Dead");
    let held_back = outbox.row("a", 2).await;
    assert_eq!((held_back.status.as_str(), held_back.retry_count), ("Pending", 0));
    let versions = outbox.broker.versions();
    assert_eq!(versions["a"], [1]);
    assert_eq!(versions["b"], [1, 2]);
}

async fn a_head_in_flight_holds_its_aggregate_back_from_every_other_relay(outbox: Outbox) {
    outbox.append_versions("a", [1, 2]).await;
    let gate = outbox.broker.hold_next_publish();
    let mut first = outbox.relay(quick());
    let in_flight = tokio::spawn(async move { first.run_once().await });
    gate.reached().await;

    let mut second = outbox.relay(quick());
    assert_eq!(second.run_once().await.expect("a pass"), Pass::Idle);

    gate.open();
    in_flight.await.expect("no panic").expect("a pass");
    assert_eq!(
        second.run_once().await.expect("a pass"),
        Pass::Moved { claimed: 1, sent: 1 },
        "the other relay goes on where the first one ended"
    );
    assert_eq!(outbox.broker.versions()["a"], [1, 2]);
}

async fn several_relays_publish_each_row_once_and_each_aggregate_in_order(outbox: Outbox) {
    const AGGREGATES: i64 = 10;
    const VERSIONS: i64 = 20;
    let expected = AGGREGATES * VERSIONS;
    for version in 1..=VERSIONS / 2 {
        for aggregate in 0..AGGREGATES {
            outbox.append(message(&format!("a{aggregate}"), version)).await;
        }
    }

    // Small batches, so that all of them take part.
    let options = RelayOptions { batch_size: 3, ..quick() };
    let relays: Vec<_> = (0..4)
        .map(|number| {
            let owner = format!("relay-{number}");
            outbox.run_relay(RelayOptions { owner, ..options.clone() })
        })
        .collect();
    // The other half is written while they run.
    for version in VERSIONS / 2 + 1..=VERSIONS {
        for aggregate in 0..AGGREGATES {
            outbox.append(message(&format!("a{aggregate}"), version)).await;
        }
    }
    eventually("all rows are sent", async || outbox.counts().await.sent == expected).await;
    join_all(relays.into_iter().map(|relay| relay.stop())).await;

    let published = outbox.broker.published();
    let ids: HashSet<_> = published.iter().map(|message| &message.properties.message_id).collect();
    assert_eq!((published.len(), ids.len()), (200, 200), "each of them once");
    for (aggregate, versions) in outbox.broker.versions() {
        assert!(versions.iter().copied().eq(1..=VERSIONS), "{aggregate}: {versions:?}");
    }
    assert!(outbox.all_rows().await.iter().all(|row| row.is_unclaimed()));
}
