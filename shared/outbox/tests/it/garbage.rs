//! Rows that somebody else wrote, and that no relay can read.

use outbox::{Backoff, Pass, RelayOptions};
use test_kit::Backing;

use crate::bench::{Outbox, message, quick};

on_both_databases!(a_row_that_can_not_be_read_dies_alone_with_the_reason);

async fn a_row_that_can_not_be_read_dies_alone_with_the_reason(outbox: Outbox) {
    outbox.append(message("before", 1)).await;
    outbox
        .execute(
            "INSERT INTO outbox_messages (message_id, aggregate_type, aggregate_id,
               aggregate_version, type, payload, occurred_on)
             VALUES ('no-uuid', 'order', 'garbage', 1, 'OrderPlaced', '{}',
               '2026-01-01T00:00:00+00:00')",
        )
        .await;
    outbox.append(message("after", 1)).await;
    let mut relay = outbox.relay(RelayOptions { backoff: Backoff::None, ..quick() });
    let totals = relay.totals();

    let pass = relay.run_once().await.expect("a pass");

    assert_eq!(pass, Pass::Moved { claimed: 3, sent: 2 });
    let row = outbox.row("garbage", 1).await;
    assert_eq!(row.status, "Dead");
    assert!(row.last_error.expect("a reason").starts_with("can't be read:"));
    assert_eq!((totals.read().failed, totals.read().dead), (1, 1));
}

/// PostgreSQL only: SQLite can't fail a statement once in a way that may pass.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_broker_confirmed_is_marked_although_the_database_fails_at_first() {
    let outbox = Outbox::new(Backing::Servers).await;
    outbox.append(message("a", 1)).await;
    // A sequence does not roll back: the first mark fails, the second does not.
    outbox
        .execute(
            "CREATE SEQUENCE marks;
             CREATE FUNCTION fail_first() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
               IF nextval('marks') = 1 THEN RAISE EXCEPTION 'later' USING ERRCODE = '40001'; END IF;
               RETURN NEW; END $$;
             CREATE TRIGGER fail_first BEFORE UPDATE ON outbox_messages FOR EACH ROW
               WHEN (NEW.status = 'Sent') EXECUTE FUNCTION fail_first()",
        )
        .await;
    let mut relay = outbox.relay(quick());

    let pass = relay.run_once().await.expect("a pass");

    assert_eq!(pass, Pass::Moved { claimed: 1, sent: 1 });
    assert_eq!(outbox.broker.published().len(), 1, "not published again");
}

/// PostgreSQL only: SQLite has no such time.
#[tokio::test(flavor = "multi_thread")]
async fn a_row_whose_time_no_program_can_hold_dies_alone() {
    let outbox = Outbox::new(Backing::Servers).await;
    for (aggregate, time) in [("before-all", "-infinity"), ("far", "4000-01-01 BC")] {
        outbox
            .execute(&format!(
                "INSERT INTO outbox_messages (message_id, aggregate_type, aggregate_id,
                   aggregate_version, type, payload, occurred_on)
                 VALUES (gen_random_uuid(), 'order', '{aggregate}', 1, 'OrderPlaced', '{{}}',
                   '{time}')"
            ))
            .await;
    }
    outbox.append(message("healthy", 1)).await;
    let mut relay = outbox.relay(RelayOptions { backoff: Backoff::None, ..quick() });

    assert_eq!(relay.run_once().await.expect("a pass"), Pass::Moved { claimed: 3, sent: 1 });
    for aggregate in ["before-all", "far"] {
        assert_eq!(outbox.row(aggregate, 1).await.status, "Dead");
    }
}
