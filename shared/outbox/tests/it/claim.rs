//! Which rows a claim takes, and how it finds them.

use database::begin_write;
use outbox::{Pass, RelayOptions};
use sea_orm::{ConnectionTrait, DatabaseConnection};
use test_kit::{Backing, eventually};

use crate::bench::{Outbox, message, quick};
use crate::broker::aggregate;

on_both_databases!(
    a_batch_is_published_in_the_order_of_writing,
    a_claim_takes_no_more_rows_than_a_batch_holds,
);

async fn a_batch_is_published_in_the_order_of_writing(outbox: Outbox) {
    let aggregates: Vec<_> = (0..200).map(|number| format!("a{number}")).collect();
    for aggregate in &aggregates {
        outbox.append(message(aggregate, 1)).await;
    }
    // On PostgreSQL an update moves its rows: now they lie in the table in another order.
    for divisor in [2, 3, 5] {
        let sql = format!("UPDATE outbox_messages SET last_error = 'x' WHERE id % {divisor} = 0");
        outbox.execute(&sql).await;
    }

    outbox.relay(quick()).run_once().await.expect("a pass");

    let published: Vec<_> = outbox.broker.published().iter().map(aggregate).collect();
    assert_eq!(published, aggregates);
}

async fn a_claim_takes_no_more_rows_than_a_batch_holds(outbox: Outbox) {
    for number in 0..10 {
        outbox.append(message(&format!("a{number}"), 1)).await;
    }
    let mut relay = outbox.relay(RelayOptions { batch_size: 4, ..quick() });
    for expected in [4, 4, 2] {
        let pass = relay.run_once().await.expect("a pass");
        assert_eq!(pass, Pass::Moved { claimed: expected, sent: expected });
    }
    assert_eq!(relay.run_once().await.expect("a pass"), Pass::Idle);
}

/// PostgreSQL only: SQLite has one writer at a time, so no transaction can commit after another one
/// that took a later id.
#[tokio::test(flavor = "multi_thread")]
async fn a_lower_id_that_commits_late_is_still_published() {
    let outbox = Outbox::new(Backing::Servers).await;
    let late = begin_write(&outbox.db).await.expect("a transaction");
    outbox::append(&late, message("late", 1)).await.expect("appended");
    outbox.append(message("early", 1)).await;

    let mut relay = outbox.relay(quick());
    assert_eq!(relay.run_once().await.expect("a pass"), Pass::Moved { claimed: 1, sent: 1 });
    late.commit().await.expect("committed");
    assert_eq!(relay.run_once().await.expect("a pass"), Pass::Moved { claimed: 1, sent: 1 });

    let published: Vec<_> = outbox.broker.published().iter().map(aggregate).collect();
    assert_eq!(published, ["early", "late"]);
    let ids = "SELECT 1 AS found FROM outbox_messages late, outbox_messages early
               WHERE late.aggregate_id = 'late' AND early.aggregate_id = 'early' AND late.id < early.id";
    assert!(found(&outbox.db, ids).await, "the late one has the lower id");
}

/// PostgreSQL only: it counts which indexes and tables were read. The claim is looked at as it runs,
/// by what it adds to these counts. Sessions report them at their end at the latest.
#[tokio::test(flavor = "multi_thread")]
async fn a_claim_reads_the_index_of_pending_rows_and_not_the_table_of_sent_ones() {
    let outbox = Outbox::new(Backing::Servers).await;
    outbox
        .execute(
            "INSERT INTO outbox_messages (message_id, aggregate_type, aggregate_id,
               aggregate_version, type, payload, occurred_on, sent_at, status)
             SELECT gen_random_uuid(), 'order', 'sent-' || n, 1, 'OrderPlaced', '{}', now(), now(),
               'Sent'
             FROM generate_series(1, 20000) n",
        )
        .await;
    outbox.append(message("a", 1)).await;
    outbox.execute("VACUUM ANALYZE outbox_messages").await;
    let watcher = outbox.single_connection("watcher");
    all_reported(&outbox.db, &watcher).await;
    watcher.execute_unprepared("SELECT pg_stat_reset()").await.expect("reset");

    let db = outbox.another_pool();
    let mut relay =
        outbox::Relay::new(db.clone(), outbox.broker.transport(), quick()).expect("valid options");
    assert_eq!(relay.run_once().await.expect("a pass"), Pass::Moved { claimed: 1, sent: 1 });
    assert_eq!(relay.run_once().await.expect("a pass"), Pass::Idle);
    all_reported(&db, &watcher).await;

    // The first look goes by age, the second from aggregate to aggregate.
    let used = "SELECT 1 AS found FROM pg_stat_user_indexes
                WHERE indexrelname IN ('outbox_messages_due', 'outbox_messages_blocking')
                  AND idx_scan > 0
                HAVING COUNT(*) = 2";
    assert!(found(&watcher, used).await, "each look reads a partial index");
    let scanned = "SELECT 1 AS found FROM pg_stat_user_tables
                   WHERE relname = 'outbox_messages' AND seq_scan > 0";
    assert!(!found(&watcher, scanned).await, "no claim reads the table from end to end");
}

/// Closes a pool and waits until the last session but the watcher's is gone.
pub(crate) async fn all_reported(db: &DatabaseConnection, watcher: &DatabaseConnection) {
    db.clone().close().await.expect("closed");
    let others = "SELECT 1 AS found FROM pg_stat_activity
                  WHERE datname = current_database() AND application_name <> 'watcher'
                    AND backend_type = 'client backend'";
    eventually("all sessions have ended", async || !found(watcher, others).await).await;
}

async fn found(db: &DatabaseConnection, sql: &str) -> bool {
    let statement = database::Dialect::of(db).statement(sql, []);
    db.query_one_raw(statement).await.expect("an answer").is_some()
}
