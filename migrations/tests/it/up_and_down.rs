//! Each way leads where it says, from wherever it starts.

use std::sync::Arc;

use database::Dialect;
use futures_util::future::join_all;
use migrations::Database;
use tokio::sync::Barrier;

use crate::bench::Empty;

on_both_databases!(
    up_on_an_empty_database_creates_every_table,
    up_again_changes_nothing_and_keeps_the_data,
    eight_that_migrate_one_empty_database_at_the_same_time_all_succeed,
    down_removes_everything_and_up_works_again,
    every_column_with_a_meaning_of_its_own_is_commented,
);

fn expected_tables(database: Database) -> Vec<&'static str> {
    let mut tables = vec![
        "inbox_attempts",
        "inbox_messages",
        "inbox_positions",
        "outbox_actions",
        "outbox_archives",
        "outbox_leases",
        "outbox_messages",
        "parked_actions",
        "parked_messages",
    ];
    tables.extend(match database {
        Database::Orders => ["idempotency_keys", "order_lines", "orders"],
        Database::Inventory => ["reservation_lines", "reservations", "stock_items"],
    });
    tables.sort_unstable();
    tables
}

async fn up_on_an_empty_database_creates_every_table(empty: Empty) {
    assert!(empty.tables().await.is_empty());
    empty.up().await;
    assert_eq!(empty.tables().await, expected_tables(empty.database));
    if let Database::Inventory = empty.database {
        assert_eq!(stock(&empty).await, SEED);
    }
}

async fn up_again_changes_nothing_and_keeps_the_data(empty: Empty) {
    empty.up().await;
    if let Database::Inventory = empty.database {
        empty.execute("UPDATE stock_items SET on_hand = 5 WHERE sku = 'LIMITED'").await;
        empty.execute("DELETE FROM stock_items WHERE sku = 'MOUSE'").await;
    }
    empty.execute("INSERT INTO inbox_messages VALUES ('c', 'id', 'hash', '2026-01-01')").await;
    let before = empty.everything().await;

    empty.up().await;

    assert_eq!(empty.everything().await, before);
    assert_eq!(empty.texts("SELECT message_id AS name FROM inbox_messages").await, ["id"]);
    if let Database::Inventory = empty.database {
        let stock = stock(&empty).await;
        assert_eq!(stock, ["KEYBOARD 1000", "LAPTOP 10", "LIMITED 5", "MONITOR 100"]);
    }
}

async fn eight_that_migrate_one_empty_database_at_the_same_time_all_succeed(empty: Empty) {
    let barrier = Arc::new(Barrier::new(8));
    let database = empty.database;
    let migrators = (0..8).map(|_| {
        let (db, barrier) = (empty.another_pool(), barrier.clone());
        tokio::spawn(async move {
            barrier.wait().await;
            migrations::up(&db, database).await
        })
    });
    for migrated in join_all(migrators).await {
        migrated.expect("no panic").expect("up");
    }
    assert_eq!(empty.tables().await, expected_tables(empty.database));
    if let Database::Inventory = empty.database {
        assert_eq!(stock(&empty).await, SEED);
    }
}

async fn down_removes_everything_and_up_works_again(empty: Empty) {
    empty.up().await;
    let first = empty.everything().await;
    empty.execute("INSERT INTO inbox_messages VALUES ('c', 'id', 'hash', '2026-01-01')").await;

    empty.down().await;
    assert!(empty.tables().await.is_empty());

    empty.up().await;
    assert_eq!(empty.everything().await, first);
    assert!(empty.texts("SELECT message_id AS name FROM inbox_messages").await.is_empty());
}

async fn every_column_with_a_meaning_of_its_own_is_commented(empty: Empty) {
    empty.up().await;
    // SQLite keeps comments in the text of the table, PostgreSQL in its catalogue.
    let sql = match Dialect::of(&empty.db) {
        Dialect::Sqlite => "SELECT sql AS name FROM sqlite_master WHERE type = 'table'",
        Dialect::Postgres => {
            "SELECT concat_ws(' ', objoid::regclass, attname, description) AS name
             FROM pg_description JOIN pg_attribute ON attrelid = objoid AND attnum = objsubid
             WHERE classoid = 'pg_class'::regclass AND objoid::regclass::text NOT LIKE '%.%'"
        }
    };
    let comments = empty.texts(sql).await.join("\n");
    let own = match empty.database {
        Database::Orders => [
            "SHA-256 of the parsed order: the same key with another order is an error",
            "counts the changes of this row",
        ],
        Database::Inventory => {
            ["of those, promised to orders", "one decision for each order, ever"]
        }
    };
    let shared = [
        "order of writing; gaps and late commits are normal, never remember the last one",
        "fencing token of that claim: only its holder may write the row",
        "the relay's state",
        "SHA-256 of the body, in hex: the same id with another body is an error",
        "intact",
    ];
    for comment in own.iter().chain(&shared) {
        assert!(comments.contains(comment), "{comment:?} is missing in\n{comments}");
    }
}

const SEED: [&str; 5] = ["KEYBOARD 1000", "LAPTOP 10", "LIMITED 1", "MONITOR 100", "MOUSE 1000"];

async fn stock(empty: &Empty) -> Vec<String> {
    let sql = "SELECT sku || ' ' || CAST(on_hand AS text) AS name FROM stock_items";
    empty.texts(sql).await
}
