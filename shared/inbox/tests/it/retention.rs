//! Cleaning up: what was processed long ago is forgotten, nothing else is.

use std::time::Duration;

use chrono::{TimeDelta, Utc};
use database::Dialect;
use inbox::{Cleaned, Cleaner, Receipt, RetentionOptions, begin};
use sea_orm::ConnectionTrait;
use test_kit::eventually;
use tokio_util::sync::CancellationToken;
use transport::MessageId;

use crate::actor::Then;
use crate::bench::{CONSUMER, Inbox, message, quick};

on_both_databases!(
    only_what_this_consumer_processed_longer_ago_than_the_retention_is_forgotten,
    a_copy_within_the_retention_is_still_a_duplicate,
    parked_messages_and_positions_stay_whatever_their_age,
    counted_starts_that_nobody_goes_on_with_are_forgotten,
    outside_of_the_window_of_the_day_nothing_is_forgotten,
    a_running_cleaner_forgets_what_becomes_old_until_it_is_stopped,
);

/// Two weeks, in small batches without pauses.
fn fortnightly() -> RetentionOptions {
    RetentionOptions {
        retention: Duration::from_secs(14 * 24 * 3600),
        batch_size: 2,
        pause: Duration::ZERO,
        interval: Duration::from_millis(10),
        ..RetentionOptions::default()
    }
}

impl Inbox {
    fn cleaner(&self, options: RetentionOptions) -> Cleaner {
        Cleaner::new(self.another_pool(), CONSUMER, options)
    }

    /// A message that some consumer processed so many days ago.
    async fn processed(&self, consumer: &str, id: MessageId, days: i64) {
        match begin(&self.db, consumer, id, b"{}").await.expect("a receipt") {
            Receipt::First(tx) => tx.commit().await.expect("committed"),
            other => panic!("{other:?}"),
        }
        self.set_age("inbox_messages", "processed_at", days, &format!("message_id = '{id}'")).await;
    }

    pub(crate) async fn set_age(&self, table: &str, column: &str, days: i64, which: &str) {
        let dialect = Dialect::of(&self.db);
        let sql =
            format!("UPDATE {table} SET {column} = {} WHERE {which}", dialect.millis_ago("$1"));
        let values = [(days * 24 * 3600 * 1000).into()];
        self.db.execute_raw(dialect.statement(sql, values)).await.expect("aged");
    }
}

async fn only_what_this_consumer_processed_longer_ago_than_the_retention_is_forgotten(
    inbox: Inbox,
) {
    for days in [13, 15, 16, 17, 18, 19, 0] {
        inbox.processed(CONSUMER, MessageId::generate(), days).await;
    }
    inbox.processed("another", MessageId::generate(), 1000).await;

    let cleaned = inbox.cleaner(fortnightly()).run_once().await.expect("a run");

    assert_eq!(cleaned, Cleaned::Removed(5), "in batches of two");
    assert_eq!(inbox.known().await, 3);
    let again = inbox.cleaner(fortnightly()).run_once().await.expect("a run");
    assert_eq!(again, Cleaned::Removed(0));
}

async fn a_copy_within_the_retention_is_still_a_duplicate(inbox: Inbox) {
    let id = MessageId::generate();
    inbox.processed(CONSUMER, id, 13).await;
    inbox.cleaner(fortnightly()).run_once().await.expect("a run");
    let receipt = begin(&inbox.db, CONSUMER, id, b"{}").await.expect("a receipt");
    assert!(matches!(receipt, Receipt::Duplicate), "{receipt:?}");
}

async fn parked_messages_and_positions_stay_whatever_their_age(inbox: Inbox) {
    let consumer = inbox.run_consumer(quick());
    inbox.send(message("parked", Then::Park));
    eventually("it is parked", || async { inbox.parked().await.len() == 1 }).await;
    consumer.stop().await;
    inbox.set_age("parked_messages", "parked_at", 1000, "1 = 1").await;
    let sql = format!(
        "INSERT INTO inbox_positions
           (consumer, aggregate_type, aggregate_id, aggregate_version, updated_at)
         VALUES ('{CONSUMER}', 'order', 'a', 3, '1999-01-01T00:00:00+00:00')"
    );
    inbox.execute(&sql).await;
    inbox.processed(CONSUMER, MessageId::generate(), 1000).await;

    let cleaned = inbox.cleaner(fortnightly()).run_once().await.expect("a run");

    assert_eq!(cleaned, Cleaned::Removed(1));
    assert_eq!(inbox.parked().await.len(), 1);
    let sql = "SELECT COUNT(*) AS n FROM inbox_positions";
    let row = inbox.db.query_one_raw(Dialect::of(&inbox.db).statement(sql, [])).await;
    let positions: i64 = row.expect("an answer").expect("a row").try_get("", "n").expect("n");
    assert_eq!(positions, 1);
}

async fn counted_starts_that_nobody_goes_on_with_are_forgotten(inbox: Inbox) {
    for (consumer, id, days) in
        [(CONSUMER, "old", 15), (CONSUMER, "young", 13), ("another", "theirs", 15)]
    {
        let sql = format!(
            "INSERT INTO inbox_attempts (consumer, message_id, starts, started_at)
             VALUES ('{consumer}', '{id}', 2, '1999-01-01T00:00:00+00:00')"
        );
        inbox.execute(&sql).await;
        let which = format!("message_id = '{id}'");
        inbox.set_age("inbox_attempts", "started_at", days, &which).await;
    }
    let hasty = RetentionOptions { retention: Duration::ZERO, ..fortnightly() };
    let cleaned = inbox.cleaner(fortnightly()).run_once().await.expect("a run");
    assert_eq!(cleaned, Cleaned::Removed(0), "messages are counted, and nothing else");
    let left = |starts: Vec<(String, i32)>| {
        let mut left: Vec<_> = starts.into_iter().map(|(id, _)| id).collect();
        left.sort_unstable();
        left
    };
    assert_eq!(left(inbox.starts().await), ["theirs", "young"]);

    inbox.set_age("inbox_attempts", "started_at", 1, "message_id = 'young'").await;
    inbox.cleaner(hasty).run_once().await.expect("a run");
    assert_eq!(left(inbox.starts().await), ["theirs", "young"], "it may be tried again yet");
}

async fn outside_of_the_window_of_the_day_nothing_is_forgotten(inbox: Inbox) {
    inbox.processed(CONSUMER, MessageId::generate(), 15).await;
    let around_now = |from: i64, to: i64| {
        let at = |hours| (Utc::now() + TimeDelta::hours(hours)).format("%H:%M");
        let window = format!("{}-{}", at(from), at(to)).parse().expect("a window");
        inbox.cleaner(RetentionOptions { window, ..fortnightly() })
    };
    assert_eq!(around_now(2, 4).run_once().await.expect("a run"), Cleaned::NotNow);
    assert_eq!(inbox.known().await, 1);
    assert_eq!(around_now(-2, 2).run_once().await.expect("a run"), Cleaned::Removed(1));
}

async fn a_running_cleaner_forgets_what_becomes_old_until_it_is_stopped(inbox: Inbox) {
    let stop = CancellationToken::new();
    let cleaning = tokio::spawn(inbox.cleaner(fortnightly()).run(stop.clone()));
    for _ in 0..2 {
        inbox.processed(CONSUMER, MessageId::generate(), 15).await;
        eventually("it is forgotten", || async { inbox.known().await == 0 }).await;
    }
    stop.cancel();
    cleaning.await.expect("the cleaner ends and does not panic");
}
