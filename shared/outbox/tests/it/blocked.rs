//! Rows that wait behind others: what they cost a claim, and that nothing is lost behind them.

use database::Dialect;
use outbox::{Backoff, DeadLetterPolicy, Pass, RelayOptions};
use sea_orm::ConnectionTrait;
use test_kit::{Backing, eventually};
use transport::Outcome;

use crate::bench::{HOUR, Outbox, message, quick};
use crate::broker::aggregate;

on_both_databases!(
    a_head_is_found_behind_any_number_of_rows_that_wait_behind_others,
    the_walk_from_aggregate_to_aggregate_comes_round_to_all_of_them,
    a_healthy_aggregate_behind_many_stuck_ones_does_not_wait_for_a_poll,
    a_message_that_is_to_be_tried_later_is_not_in_the_way_of_those_that_are_due,
    the_rest_of_an_aggregate_passes_a_dead_head_where_dead_letters_are_skipped,
);

fn small() -> RelayOptions {
    RelayOptions { batch_size: 2, ..quick() }
}

/// `rows` messages of one aggregate, the first of them dead.
async fn append_blocked(outbox: &Outbox, aggregate: &str, rows: i64) {
    let numbers = match Dialect::of(&outbox.db) {
        Dialect::Postgres => format!("generate_series(1, {rows}) n"),
        Dialect::Sqlite => format!(
            "(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {rows})
              SELECT n FROM s) s"
        ),
    };
    let sql = format!(
        "INSERT INTO outbox_messages (message_id, aggregate_type, aggregate_id, aggregate_version,
           type, payload, occurred_on, status)
         SELECT '{aggregate}-' || n, 'order', '{aggregate}', n, 'OrderPlaced', '{{}}',
           '2026-01-01T00:00:00+00:00', CASE WHEN n = 1 THEN 'Dead' ELSE 'Pending' END
         FROM {numbers}"
    );
    outbox.execute(&sql).await;
}

async fn a_head_is_found_behind_any_number_of_rows_that_wait_behind_others(outbox: Outbox) {
    append_blocked(&outbox, "blocked", 100).await;
    outbox.append(message("free", 1)).await;

    let pass = outbox.relay(small()).run_once().await.expect("a pass");

    assert_eq!(pass, Pass::Moved { claimed: 1, sent: 1 });
    assert_eq!(outbox.row("free", 1).await.status, "Sent");
}

async fn the_walk_from_aggregate_to_aggregate_comes_round_to_all_of_them(outbox: Outbox) {
    // In the order of the alphabet: three blocked, one free, three blocked, one free.
    for blocked in ["a", "b", "c", "e", "f", "g"] {
        append_blocked(&outbox, blocked, 3).await;
    }
    let mut relay = outbox.relay(small());
    for (first, second) in [("d", "h"), ("h2", "d2")] {
        outbox.append(message(first, 1)).await;
        outbox.append(message(second, 1)).await;
        for _ in 0..6 {
            relay.run_once().await.expect("a pass");
        }
    }
    let mut sent: Vec<_> = outbox.broker.published().iter().map(aggregate).collect();
    sent.sort_unstable();
    assert_eq!(sent, ["d", "d2", "h", "h2"]);
}

async fn a_healthy_aggregate_behind_many_stuck_ones_does_not_wait_for_a_poll(outbox: Outbox) {
    for number in 0..10 {
        append_blocked(&outbox, &format!("stuck-{number}"), 3).await;
    }
    outbox.append(message("zebra", 1)).await;
    let running = outbox.run_relay(RelayOptions { poll_interval: HOUR, ..small() });
    eventually("the healthy one is sent", async || outbox.counts().await.sent == 1).await;
    running.stop().await;
}

async fn a_message_that_is_to_be_tried_later_is_not_in_the_way_of_those_that_are_due(
    outbox: Outbox,
) {
    for number in 0..20 {
        outbox.append(message(&format!("failing-{number:02}"), 1)).await;
    }
    outbox.broker.answer(|message| match aggregate(message).starts_with("failing") {
        true => Outcome::Nacked,
        false => Outcome::Confirmed,
    });
    let mut relay = outbox.relay(RelayOptions { backoff_base: HOUR, ..small() });
    for _ in 0..10 {
        relay.run_once().await.expect("a pass");
    }
    outbox.append(message("healthy", 1)).await;

    assert_eq!(relay.run_once().await.expect("a pass"), Pass::Moved { claimed: 1, sent: 1 });
    assert_eq!(outbox.row("healthy", 1).await.status, "Sent");
}

async fn the_rest_of_an_aggregate_passes_a_dead_head_where_dead_letters_are_skipped(
    outbox: Outbox,
) {
    outbox.append_versions("a", [1, 2, 3]).await;
    let mut dead = false;
    outbox.broker.answer(move |_| match std::mem::replace(&mut dead, true) {
        false => Outcome::Nacked,
        true => Outcome::Confirmed,
    });
    let options =
        RelayOptions { backoff: Backoff::None, dead_letters: DeadLetterPolicy::Skip, ..quick() };
    let mut relay = outbox.relay(options);
    while relay.run_once().await.expect("a pass") != Pass::Idle {}

    assert_eq!(outbox.row("a", 1).await.status, "Dead");
    assert_eq!(outbox.broker.versions()["a"], [1, 2, 3]);
    assert_eq!(outbox.counts().await.sent, 2);
}

/// PostgreSQL only: it counts what was read. Its statistics say that nothing is pending, as they do
/// in a quiet table just before its first burst: the plan must be good all the same.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_claim_reads_does_not_grow_with_the_rows_that_wait_behind_others() {
    let mut read = Vec::new();
    for blocked in [1_000, 20_000] {
        let outbox = Outbox::new(Backing::Servers).await;
        outbox.execute("ALTER TABLE outbox_messages SET (autovacuum_enabled = false)").await;
        append_blocked(&outbox, "sent", 20_000).await;
        outbox.execute("UPDATE outbox_messages SET status = 'Sent'").await;
        outbox.execute("VACUUM ANALYZE outbox_messages").await;
        append_blocked(&outbox, "blocked", blocked).await;
        outbox.append(message("free", 1)).await;

        let mut relay = outbox.relay(RelayOptions { batch_size: 50, ..quick() });
        let before = index_entries_read(&outbox).await;
        let pass = relay.run_once().await.expect("a pass");
        assert_eq!(pass, Pass::Moved { claimed: 1, sent: 1 });
        drop(relay);
        read.push(index_entries_read(&outbox).await - before);
    }
    let [few, many] = read[..] else { panic!("two runs") };
    assert!(many <= few + 200, "with 1,000 blocked rows {few} entries read, with 20,000 {many}");
}

/// PostgreSQL only, as above: two aggregates with 200 messages each, one message of each in a pass.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_claim_reads_depends_on_the_aggregates_and_not_on_the_rows_behind_their_heads() {
    let outbox = Outbox::new(Backing::Servers).await;
    for aggregate in ["a", "b"] {
        append_blocked(&outbox, aggregate, 200).await;
    }
    // The ids of a message are UUIDs, except in rows that are never read.
    outbox
        .execute(
            "UPDATE outbox_messages SET message_id = gen_random_uuid(), status = 'Pending'
             WHERE status IN ('Pending', 'Dead')",
        )
        .await;
    let mut relay = outbox.relay(RelayOptions { batch_size: 50, ..quick() });
    let before = index_scans(&outbox).await;
    let mut passes = 0;
    while relay.run_once().await.expect("a pass") != Pass::Idle {
        passes += 1;
    }
    drop(relay);
    let looked_up = index_scans(&outbox).await - before;
    assert_eq!(outbox.broker.published().len(), 400);
    // By age alone it would be a window of 100 rows in each pass, and two lookups for each row.
    assert!(looked_up < 50 * passes, "{looked_up} lookups in {passes} passes");
}

/// How often all sessions have looked into an index of the outbox so far. (How much they read there
/// depends on what PostgreSQL could tidy up meanwhile.)
async fn index_scans(outbox: &Outbox) -> i64 {
    statistic(outbox, "idx_scan").await
}

/// What all sessions have read from the indexes of the outbox so far.
async fn index_entries_read(outbox: &Outbox) -> i64 {
    statistic(outbox, "idx_tup_read").await
}

async fn statistic(outbox: &Outbox, column: &str) -> i64 {
    // Sessions report what they read when they end, or a second later: ours have a pool each.
    let watcher = outbox.single_connection("watcher");
    crate::claim::all_reported(&outbox.db, &watcher).await;
    let sql = format!(
        "SELECT CAST(SUM({column}) AS bigint) AS total FROM pg_stat_user_indexes
         WHERE relname = 'outbox_messages'"
    );
    let statement = Dialect::Postgres.statement(sql, []);
    let row = watcher.query_one_raw(statement).await.expect("an answer").expect("a row");
    row.try_get("", "total").expect("a number")
}
