//! Cleaning up: what was sent long ago goes, everything else stays.

use std::time::{Duration, Instant};

use chrono::{TimeDelta, Utc};
use database::Dialect;
use outbox::{Cleaned, Cleaner, RetentionMode, RetentionOptions, count_removable};
use sea_orm::{ConnectionTrait, TransactionTrait};
use test_kit::eventually;
use tokio_util::sync::CancellationToken;

use crate::bench::{Outbox, message, quick};

on_both_databases!(
    only_rows_that_were_sent_longer_ago_than_the_retention_are_removed,
    an_archived_row_keeps_all_that_it_had_and_is_no_longer_in_the_outbox,
    a_crash_between_archiving_and_deleting_leaves_each_row_in_one_table_only,
    a_message_that_was_brought_back_from_the_archive_and_sent_again_is_archived_once,
    old_rows_behind_many_that_stay_are_found,
    while_another_cleaner_holds_the_lease_nothing_is_removed,
    a_cleaner_that_lost_its_lease_stops_when_it_is_to_renew_it,
    where_all_rows_stay_a_cleaner_pauses_after_each_batch_and_writes_its_lease_once,
    a_cleaner_gives_its_lease_back,
    outside_of_the_window_of_the_day_nothing_is_removed,
    a_running_cleaner_removes_what_becomes_old_until_it_is_stopped,
    while_cleaners_run_every_message_is_published_in_order_and_archived_once,
    a_retention_beyond_all_calendars_removes_nothing,
);

const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

/// A week, in small batches without pauses.
fn weekly() -> RetentionOptions {
    RetentionOptions {
        retention: WEEK,
        batch_size: 2,
        pause: Duration::ZERO,
        interval: Duration::from_millis(10),
        ..RetentionOptions::default()
    }
}

fn archiving() -> RetentionOptions {
    RetentionOptions { mode: RetentionMode::Archive, ..weekly() }
}

impl Outbox {
    fn cleaner(&self, options: RetentionOptions) -> Cleaner {
        Cleaner::new(self.another_pool(), options).expect("valid options")
    }

    /// A row of this age in this state, with the traces of having been sent as long ago.
    async fn aged(&self, aggregate: &str, status: &str, days: i64) {
        self.append(message(aggregate, 1)).await;
        self.set_age(aggregate, "occurred_on", days).await;
        self.set_age(aggregate, "sent_at", days).await;
        self.execute(&format!(
            "UPDATE outbox_messages SET status = '{status}' WHERE aggregate_id = '{aggregate}'"
        ))
        .await;
    }

    async fn set_age(&self, aggregate: &str, column: &str, days: i64) {
        let dialect = Dialect::of(&self.db);
        let sql = format!(
            "UPDATE outbox_messages SET {column} = {} WHERE aggregate_id = $2",
            dialect.millis_ago("$1")
        );
        let values = [(days * 24 * 3600 * 1000).into(), aggregate.into()];
        self.db.execute_raw(dialect.statement(sql, values)).await.expect("aged");
    }

    /// The aggregates in a table, by name.
    async fn aggregates_in(&self, table: &str) -> Vec<String> {
        let sql = format!("SELECT aggregate_id FROM {table} ORDER BY aggregate_id");
        let rows = self.db.query_all_raw(Dialect::of(&self.db).statement(sql, [])).await;
        let rows = rows.expect("rows");
        rows.iter().map(|row| row.try_get("", "aggregate_id").expect("text")).collect()
    }

    /// Runs statements at each deletion of an outbox row.
    async fn at_each_deletion(&self, on_sqlite: &str, on_postgres: &str) {
        match Dialect::of(&self.db) {
            Dialect::Sqlite => {
                self.execute(&format!(
                    "CREATE TRIGGER at_deletion BEFORE DELETE ON outbox_messages
                     BEGIN {on_sqlite}; END"
                ))
                .await;
            }
            Dialect::Postgres => {
                self.execute(&format!(
                    "CREATE FUNCTION at_deletion() RETURNS trigger LANGUAGE plpgsql AS
                     $$ BEGIN {on_postgres}; RETURN OLD; END $$"
                ))
                .await;
                self.execute(
                    "CREATE TRIGGER at_deletion BEFORE DELETE ON outbox_messages
                     FOR EACH ROW EXECUTE FUNCTION at_deletion()",
                )
                .await;
            }
        }
    }

    async fn forget_deletions(&self) {
        self.execute(match Dialect::of(&self.db) {
            Dialect::Sqlite => "DROP TRIGGER at_deletion",
            Dialect::Postgres => "DROP TRIGGER at_deletion ON outbox_messages",
        })
        .await;
    }

    /// As another cleaner does, for some milliseconds from now.
    async fn lease_to_another(&self, millis: i64) {
        let dialect = Dialect::of(&self.db);
        let sql = format!(
            "INSERT INTO outbox_leases (name, holder, token, held_until)
             VALUES ('cleanup', 'another', 'its-token', {until})
             ON CONFLICT (name) DO UPDATE SET held_until = excluded.held_until",
            until = dialect.now_plus_millis("$1")
        );
        self.db.execute_raw(dialect.statement(sql, [millis.into()])).await.expect("a lease");
    }
}

async fn only_rows_that_were_sent_longer_ago_than_the_retention_are_removed(outbox: Outbox) {
    outbox.aged("gone", "Sent", 8).await;
    outbox.aged("young", "Sent", 6).await;
    for (aggregate, status) in
        [("pending", "Pending"), ("dead", "Dead"), ("discarded", "Discarded")]
    {
        outbox.aged(aggregate, status, 1000).await;
    }
    // Written long ago, sent (again) lately.
    outbox.aged("resent", "Sent", 1000).await;
    outbox.set_age("resent", "sent_at", 1).await;
    outbox.aged("also-gone", "Sent", 1000).await;

    assert_eq!(count_removable(&outbox.db, WEEK).await.expect("a count"), 2);
    let cleaned = outbox.cleaner(weekly()).run_once().await.expect("a run");

    assert_eq!(cleaned, Cleaned::Removed(2));
    let stayed = ["dead", "discarded", "pending", "resent", "young"];
    assert_eq!(outbox.aggregates_in("outbox_messages").await, stayed);
    assert!(outbox.aggregates_in("outbox_archives").await.is_empty());
    assert_eq!(count_removable(&outbox.db, WEEK).await.expect("a count"), 0);
}

async fn an_archived_row_keeps_all_that_it_had_and_is_no_longer_in_the_outbox(outbox: Outbox) {
    const COLUMNS: &str = "id, message_id, aggregate_type, aggregate_id, aggregate_version, type,
        schema_version, CAST(payload AS text) AS payload, CAST(headers AS text) AS headers,
        CAST(occurred_on AS text) AS occurred_on, CAST(sent_at AS text) AS sent_at";
    let columns_in = async |table: &str| {
        let sql = format!("SELECT {COLUMNS} FROM {table} WHERE aggregate_id = 'old'");
        let row = outbox.db.query_one_raw(Dialect::of(&outbox.db).statement(sql, [])).await;
        let row = row.expect("an answer").expect("a row");
        let text = |column| row.try_get::<String>("", column).expect(column);
        let number = |column| row.try_get::<i64>("", column).expect(column);
        let texts = [
            "message_id",
            "aggregate_type",
            "type",
            "payload",
            "headers",
            "occurred_on",
            "sent_at",
        ];
        (number("id"), number("aggregate_version"), texts.map(text))
    };
    outbox.append(message("old", 1).schema_version(2).header("traceparent", "as it was")).await;
    outbox.relay(quick()).run_once().await.expect("a pass");
    outbox.set_age("old", "sent_at", 8).await;
    outbox.aged("young", "Sent", 1).await;
    let before = columns_in("outbox_messages").await;

    let cleaned = outbox.cleaner(archiving()).run_once().await.expect("a run");

    assert_eq!(cleaned, Cleaned::Removed(1));
    assert_eq!(columns_in("outbox_archives").await, before);
    assert_eq!(outbox.aggregates_in("outbox_archives").await, ["old"]);
    assert_eq!(outbox.aggregates_in("outbox_messages").await, ["young"]);
}

async fn a_crash_between_archiving_and_deleting_leaves_each_row_in_one_table_only(outbox: Outbox) {
    outbox.aged("a", "Sent", 8).await;
    outbox.aged("b", "Sent", 8).await;
    outbox.at_each_deletion("SELECT RAISE(ABORT, 'a crash')", "RAISE EXCEPTION 'a crash'").await;

    outbox.cleaner(archiving()).run_once().await.expect_err("it came to an end in between");
    assert!(outbox.aggregates_in("outbox_archives").await.is_empty());
    assert_eq!(outbox.aggregates_in("outbox_messages").await, ["a", "b"]);

    outbox.forget_deletions().await;
    outbox.execute("DELETE FROM outbox_leases").await;
    let cleaned = outbox.cleaner(archiving()).run_once().await.expect("a run");
    assert_eq!(cleaned, Cleaned::Removed(2));
    assert_eq!(outbox.aggregates_in("outbox_archives").await, ["a", "b"]);
    assert!(outbox.aggregates_in("outbox_messages").await.is_empty());
}

async fn a_message_that_was_brought_back_from_the_archive_and_sent_again_is_archived_once(
    outbox: Outbox,
) {
    outbox.aged("a", "Sent", 8).await;
    outbox.cleaner(archiving()).run_once().await.expect("a run");
    outbox
        .execute(
            "INSERT INTO outbox_messages (message_id, aggregate_type, aggregate_id,
               aggregate_version, type, payload, occurred_on, sent_at, status)
             SELECT message_id, aggregate_type, aggregate_id, aggregate_version, type, payload,
               occurred_on, sent_at, 'Sent' FROM outbox_archives",
        )
        .await;

    let cleaned = outbox.cleaner(archiving()).run_once().await.expect("a run");

    assert_eq!(cleaned, Cleaned::Removed(1));
    assert_eq!(outbox.aggregates_in("outbox_archives").await, ["a"]);
    assert!(outbox.aggregates_in("outbox_messages").await.is_empty());
}

async fn old_rows_behind_many_that_stay_are_found(outbox: Outbox) {
    for number in 0..7 {
        outbox.aged(&format!("dead-{number}"), "Dead", 30).await;
    }
    for number in 0..5 {
        outbox.aged(&format!("old-{number}"), "Sent", 8).await;
    }
    outbox.aged("young", "Sent", 1).await;

    let cleaned = outbox.cleaner(weekly()).run_once().await.expect("a run");

    assert_eq!(cleaned, Cleaned::Removed(5));
    assert_eq!(outbox.aggregates_in("outbox_messages").await.len(), 8);
}

async fn while_another_cleaner_holds_the_lease_nothing_is_removed(outbox: Outbox) {
    outbox.aged("old", "Sent", 8).await;
    outbox.lease_to_another(3_600_000).await;
    let cleaner = outbox.cleaner(weekly());

    assert_eq!(cleaner.run_once().await.expect("a run"), Cleaned::Elsewhere);
    assert_eq!(outbox.aggregates_in("outbox_messages").await, ["old"]);

    // The other one has died: its lease ends by itself.
    outbox.lease_to_another(-1000).await;
    assert_eq!(cleaner.run_once().await.expect("a run"), Cleaned::Removed(1));
}

async fn a_cleaner_that_lost_its_lease_stops_when_it_is_to_renew_it(outbox: Outbox) {
    for aggregate in ["a", "b", "c"] {
        outbox.aged(aggregate, "Sent", 8).await;
    }
    outbox.aged("young", "Sent", 1).await;
    let taken_over =
        "UPDATE outbox_leases SET token = 'of-another', held_until = '2999-01-01T00:00:00+00:00'";
    outbox.at_each_deletion(taken_over, taken_over).await;

    // A third of the lease is gone after each pause.
    let (pause, lease) = (Duration::from_millis(50), Duration::from_millis(150));
    let options = RetentionOptions { batch_size: 1, pause, lease, ..weekly() };
    let cleaned = outbox.cleaner(options).run_once().await.expect("a run");

    assert_eq!(cleaned, Cleaned::Removed(1), "one batch, and no more");
    assert_eq!(outbox.aggregates_in("outbox_messages").await, ["b", "c", "young"]);
}

async fn where_all_rows_stay_a_cleaner_pauses_after_each_batch_and_writes_its_lease_once(
    outbox: Outbox,
) {
    const BATCHES: u32 = 4;
    let pause = Duration::from_millis(200);
    for number in 0..2 * BATCHES {
        outbox.aged(&format!("dead-{number}"), "Dead", 30).await;
    }
    outbox.execute("CREATE TABLE renewals (token text)").await;
    let note = "INSERT INTO renewals VALUES (NEW.token)";
    outbox
        .execute(&match Dialect::of(&outbox.db) {
            Dialect::Sqlite => {
                format!("CREATE TRIGGER renewed AFTER UPDATE ON outbox_leases BEGIN {note}; END")
            }
            Dialect::Postgres => format!(
                "CREATE FUNCTION renewed() RETURNS trigger LANGUAGE plpgsql AS
                   $$ BEGIN {note}; RETURN NEW; END $$;
                 CREATE TRIGGER renewed AFTER UPDATE ON outbox_leases
                   FOR EACH ROW EXECUTE FUNCTION renewed()"
            ),
        })
        .await;

    let started = Instant::now();
    let cleaner = outbox.cleaner(RetentionOptions { pause, ..weekly() });
    assert_eq!(cleaner.run_once().await.expect("a run"), Cleaned::Removed(0));

    // A lower bound: it holds on a machine of any speed.
    assert!(started.elapsed() >= pause * BATCHES, "{:?}", started.elapsed());
    let sql = "SELECT token FROM renewals";
    let renewals = outbox.db.query_all_raw(Dialect::of(&outbox.db).statement(sql, [])).await;
    assert_eq!(renewals.expect("rows").len(), 0, "it was taken, and never written again");
}

async fn a_cleaner_gives_its_lease_back(outbox: Outbox) {
    for aggregate in ["a", "b"] {
        outbox.aged(aggregate, "Sent", 8).await;
        let cleaned = outbox.cleaner(weekly()).run_once().await.expect("a run");
        assert_eq!(cleaned, Cleaned::Removed(1), "each time by another cleaner");
    }
}

async fn outside_of_the_window_of_the_day_nothing_is_removed(outbox: Outbox) {
    outbox.aged("old", "Sent", 8).await;
    let around_now = |from: i64, to: i64| {
        let at = |hours| (Utc::now() + TimeDelta::hours(hours)).format("%H:%M");
        let window = format!("{}-{}", at(from), at(to)).parse().expect("a window");
        outbox.cleaner(RetentionOptions { window, ..weekly() })
    };

    let cleaned = around_now(2, 4).run_once().await.expect("a run");
    assert_eq!(cleaned, Cleaned::NotNow);
    assert_eq!(outbox.aggregates_in("outbox_messages").await, ["old"]);

    let cleaned = around_now(-2, 2).run_once().await.expect("a run");
    assert_eq!(cleaned, Cleaned::Removed(1));
}

async fn a_running_cleaner_removes_what_becomes_old_until_it_is_stopped(outbox: Outbox) {
    let stop = CancellationToken::new();
    let cleaning = tokio::spawn(outbox.cleaner(weekly()).run(stop.clone()));
    for aggregate in ["first", "second"] {
        outbox.aged(aggregate, "Sent", 8).await;
        eventually("it is gone", || async {
            outbox.aggregates_in("outbox_messages").await.is_empty()
        })
        .await;
    }
    stop.cancel();
    cleaning.await.expect("the cleaner ends and does not panic");
}

async fn while_cleaners_run_every_message_is_published_in_order_and_archived_once(outbox: Outbox) {
    let options = RetentionOptions { retention: Duration::ZERO, batch_size: 7, ..archiving() };
    let stop = CancellationToken::new();
    let cleaning: Vec<_> =
        (0..2).map(|_| tokio::spawn(outbox.cleaner(options.clone()).run(stop.clone()))).collect();
    let relays = [outbox.run_relay(quick()), outbox.run_relay(quick())];
    let aggregates = ["a", "b", "c", "d"];
    for version in 1..=25 {
        for aggregate in aggregates {
            outbox.append(message(aggregate, version)).await;
        }
    }
    eventually("everything is archived", || async {
        outbox.aggregates_in("outbox_archives").await.len() == 100
    })
    .await;
    stop.cancel();
    for task in cleaning {
        task.await.expect("the cleaner ends and does not panic");
    }
    for relay in relays {
        relay.stop().await;
    }
    assert!(outbox.all_rows().await.is_empty());
    for aggregate in aggregates {
        let versions = &outbox.broker.versions()[aggregate];
        assert_eq!(*versions, (1..=25).collect::<Vec<_>>(), "{aggregate}");
    }
}

async fn a_retention_beyond_all_calendars_removes_nothing(outbox: Outbox) {
    outbox.aged("old", "Sent", 1000).await;
    let options = RetentionOptions { retention: Duration::MAX, ..weekly() };
    let cleaned = outbox.cleaner(options).run_once().await.expect("a run");
    assert_eq!(cleaned, Cleaned::Removed(0));
}

/// PostgreSQL only: SQLite has one writer, and a cleaner waits for its turn.
#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_somebody_is_setting_back_to_pending_is_passed_over_without_waiting() {
    let outbox = Outbox::new(test_kit::Backing::Servers).await;
    outbox.aged("a", "Sent", 8).await;
    outbox.aged("resent", "Sent", 8).await;
    let person = outbox.another_pool();
    let tx = person.begin().await.expect("a transaction");
    let again = "UPDATE outbox_messages SET status = 'Pending' WHERE aggregate_id = 'resent'";
    tx.execute_unprepared(again).await.expect("changed");

    let cleaned = outbox.cleaner(weekly()).run_once().await.expect("a run");
    assert_eq!(cleaned, Cleaned::Removed(1));

    tx.commit().await.expect("committed");
    let cleaned = outbox.cleaner(weekly()).run_once().await.expect("a run");
    assert_eq!(cleaned, Cleaned::Removed(0));
    assert_eq!(outbox.aggregates_in("outbox_messages").await, ["resent"]);
}
