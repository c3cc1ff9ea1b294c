//! What people's looks at an outbox cost, and that their pages join.

use outbox::dead_letters::{Filter, State, list, stats};
use sea_orm::{ConnectionTrait, DatabaseConnection};
use test_kit::Backing;

use crate::bench::{Outbox, message};
use crate::claim::all_reported;

on_both_databases!(
    pages_of_waiting_messages_join_without_gap_or_double_also_where_many_are_due_at_once
);

async fn pages_of_waiting_messages_join_without_gap_or_double_also_where_many_are_due_at_once(
    outbox: Outbox,
) {
    for number in 0..12 {
        outbox.append(message(&format!("a{number}"), 1)).await;
    }
    // Three are due at the same moment, three at one without a fraction of a second, one in the future.
    for (time, numbers) in [
        ("2026-01-01T00:00:00.120+00:00", "'a1', 'a5', 'a9'"),
        ("2026-01-01T00:00:00+00:00", "'a2', 'a3', 'a10'"),
        ("2999-01-01T00:00:00.000+00:00", "'a4'"),
    ] {
        let sql = format!(
            "UPDATE outbox_messages SET next_attempt_at = '{time}' WHERE aggregate_id IN ({numbers})"
        );
        outbox.execute(&sql).await;
    }
    let mut pages = vec![];
    let mut cursor = None;
    while pages.len() <= 12 {
        let filter = Filter { state: Some(State::Pending), cursor, ..Filter::default() };
        let page = list(&outbox.db, &filter, 2).await.expect("a list");
        let Some(last) = page.last() else { break };
        // As a client gives it back.
        cursor = Some(last.cursor.to_string().parse().expect("a cursor"));
        pages.extend(page.into_iter().map(|entry| entry.aggregate_id));
    }
    let expected = ["a4", "a11", "a8", "a7", "a6", "a0", "a9", "a5", "a1", "a10", "a3", "a2"];
    assert_eq!(pages, expected, "the last to be due first");
}

/// PostgreSQL only: it counts what was read. Between an outbox that is empty most of the time and the
/// planner's statistics of it anything may have happened.
#[tokio::test(flavor = "multi_thread")]
async fn no_list_reads_the_sent_rows_whatever_the_statistics_say() {
    for believed in ["Sent", "Pending", "Dead", "Discarded"] {
        let outbox = believing(believed, 20_000).await;
        let read = read_by(&outbox, async |db| {
            for state in [State::Pending, State::Sent, State::Dead, State::Discarded] {
                let filter = Filter { state: Some(state), ..Filter::default() };
                let listed = list(db, &filter, 51).await.expect("a list");
                assert_eq!(listed.len(), 51, "{state}");
            }
        })
        .await;
        assert!(read < 2_000, "{read} rows read while the statistics say {believed}");
    }
}

/// PostgreSQL only, as above.
#[tokio::test(flavor = "multi_thread")]
async fn the_figures_read_a_hundred_thousand_sent_rows_at_most_whatever_the_statistics_say() {
    for believed in ["Sent", "Pending"] {
        let outbox = believing(believed, 120_000).await;
        let mut figures = None;
        let read = read_by(&outbox, async |db| figures = stats(db).await.ok()).await;
        let figures = figures.expect("figures");
        assert_eq!((figures.pending, figures.dead, figures.discarded), (100, 100, 100));
        assert_eq!((figures.blocked_aggregates, figures.blocked_messages), (100, 100));
        assert!(figures.sent_is_estimate);
        let expected = 115_000..125_000;
        assert!(expected.contains(&figures.sent), "{} are not about 120,000", figures.sent);
        assert!(read < 102_000, "{read} rows read while the statistics say {believed}");
    }
}

/// So many sent rows, and 100 in each other state, written before all of them; the pending ones wait
/// behind the dead ones. PostgreSQL's statistics say that all of the former are in the state `believed`.
async fn believing(believed: &str, sent: i64) -> Outbox {
    let outbox = Outbox::new(Backing::Servers).await;
    outbox.execute("ALTER TABLE outbox_messages SET (autovacuum_enabled = false)").await;
    // In pieces: the server's limit for one statement holds here too.
    let pieces: Vec<_> = (0..sent).step_by(20_000).collect();
    for from in &pieces {
        insert(&outbox, "sent", believed, from + 1, from + 20_000).await;
    }
    outbox.execute("VACUUM ANALYZE outbox_messages").await;
    for from in pieces.into_iter().filter(|_| believed != "Sent") {
        let sql = format!(
            "UPDATE outbox_messages SET status = 'Sent'
             WHERE aggregate_version > {from} AND aggregate_version <= {from} + 20000"
        );
        outbox.execute(&sql).await;
    }
    // Cleans the indexes up, and leaves the statistics.
    outbox.execute("VACUUM outbox_messages").await;
    for (version, status) in [(1, "Discarded"), (2, "Dead"), (3, "Pending")] {
        insert(&outbox, "order", status, version, version).await;
    }
    outbox
}

/// Rows with these versions: one for `sent`, 100 aggregates otherwise.
async fn insert(outbox: &Outbox, name: &str, status: &str, from: i64, to: i64) {
    let (aggregates, id) = if name == "sent" { (1, "1000 + n") } else { (100, "100 * n + a") };
    let sql = format!(
        "INSERT INTO outbox_messages (id, message_id, aggregate_type, aggregate_id, aggregate_version,
           type, payload, occurred_on, status) OVERRIDING SYSTEM VALUE
         SELECT {id}, gen_random_uuid(), 'order', '{name}-' || a, n, 'OrderPlaced', '{{}}', now(),
           '{status}'
         FROM generate_series({from}, {to}) n, generate_series(1, {aggregates}) a"
    );
    outbox.execute(&sql).await;
}

/// How many rows of the table and entries of its indexes this reads.
async fn read_by(outbox: &Outbox, look: impl AsyncFnOnce(&DatabaseConnection)) -> i64 {
    let watcher = outbox.single_connection("watcher");
    all_reported(&outbox.db, &watcher).await;
    let before = read_so_far(&watcher).await;
    let db = outbox.another_pool();
    look(&db).await;
    all_reported(&db, &watcher).await;
    read_so_far(&watcher).await - before
}

async fn read_so_far(watcher: &DatabaseConnection) -> i64 {
    let sql = "SELECT CAST(seq_tup_read + (SELECT SUM(idx_tup_read) FROM pg_stat_user_indexes
                 WHERE relname = 'outbox_messages') AS bigint) AS read
               FROM pg_stat_user_tables WHERE relname = 'outbox_messages'";
    let statement = database::Dialect::Postgres.statement(sql, []);
    let row = watcher.query_one_raw(statement).await.expect("an answer").expect("a row");
    row.try_get("", "read").expect("a number")
}
