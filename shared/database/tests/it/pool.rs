//! What the pool does when a connection is given back.

use database::PoolSettings;
use sea_orm::{ConnectionTrait, DatabaseConnection};
use test_kit::{Backing, Storage};

/// What a `begin()` leaves behind that was dropped while its BEGIN was on the way.
async fn leave_a_transaction_open(db: &DatabaseConnection) {
    db.execute_unprepared("BEGIN").await.expect("a transaction that nobody ends");
}

async fn what_is_written_after_a_forgotten_transaction_is_kept(backing: Backing) {
    let storage = Storage::new(backing);
    let url = storage.create_database("pool").await.expect("a database");
    // One connection: whoever comes next gets the one that was given back.
    let settings = PoolSettings { application_name: "pool".to_owned(), max_connections: 1 };
    let db = database::connect(&url, &settings).expect("a pool");
    db.execute_unprepared("CREATE TABLE kept (id integer)").await.expect("a table");
    leave_a_transaction_open(&db).await;
    db.execute_unprepared("INSERT INTO kept VALUES (1)").await.expect("a write");
    db.close().await.expect("the end");

    let db = database::connect(&url, &settings).expect("a pool");
    let deleted = db.execute_unprepared("DELETE FROM kept").await.expect("a look");
    assert_eq!(deleted.rows_affected(), 1, "the write has vanished");
}

#[tokio::test]
async fn what_is_written_after_a_forgotten_transaction_is_kept_on_sqlite() {
    what_is_written_after_a_forgotten_transaction_is_kept(Backing::Embedded).await;
}

#[tokio::test]
async fn what_is_written_after_a_forgotten_transaction_is_kept_on_postgresql() {
    what_is_written_after_a_forgotten_transaction_is_kept(Backing::Servers).await;
}
