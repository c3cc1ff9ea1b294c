//! Appending is part of the transaction, and what was appended is what is published.

use std::time::{SystemTime, UNIX_EPOCH};

use chrono::{DateTime, Utc};
use database::{Dialect, begin_write};
use outbox::{Counts, NewMessage, Pass, RelayOptions};
use sea_orm::ConnectionTrait;
use serde_json::json;
use transport::{Outcome, Properties, Trace};

use crate::bench::{Outbox, message, message_with, quick};

on_both_databases!(
    a_rolled_back_transaction_leaves_no_row_and_publishes_nothing,
    a_transaction_dropped_without_commit_leaves_no_row_and_publishes_nothing,
    a_committed_transaction_leaves_one_pending_row_and_publishes_its_payload_byte_for_byte,
    the_published_message_has_the_properties_and_headers_of_the_contract,
    the_published_message_is_a_cloud_event,
    every_attempt_to_publish_carries_the_same_headers,
    a_header_of_the_writer_never_replaces_one_of_the_contract,
    a_second_message_for_one_version_of_an_aggregate_can_not_be_appended,
    any_text_and_any_number_that_json_can_hold_survives,
);

async fn a_rolled_back_transaction_leaves_no_row_and_publishes_nothing(outbox: Outbox) {
    let tx = begin_write(&outbox.db).await.expect("a transaction");
    outbox::append(&tx, message("a", 1)).await.expect("appended");
    tx.rollback().await.expect("rolled back");

    assert_nothing_remains(&outbox).await;
}

async fn a_transaction_dropped_without_commit_leaves_no_row_and_publishes_nothing(outbox: Outbox) {
    let tx = begin_write(&outbox.db).await.expect("a transaction");
    outbox::append(&tx, message("a", 1)).await.expect("appended");
    drop(tx);

    assert_nothing_remains(&outbox).await;
}

async fn assert_nothing_remains(outbox: &Outbox) {
    assert_eq!(outbox.counts().await, Counts::default());
    assert_eq!(outbox.relay(quick()).run_once().await.expect("a pass"), Pass::Idle);
    assert!(outbox.broker.published().is_empty());
}

async fn a_committed_transaction_leaves_one_pending_row_and_publishes_its_payload_byte_for_byte(
    outbox: Outbox,
) {
    let payload = json!({"z": 1, "a": [true, null], "text": "  two  spaces "});
    let id = outbox.append(message_with("a", 1, &payload)).await;

    let rows = outbox.all_rows().await;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].message_id, id.to_string());
    assert_eq!((rows[0].status.as_str(), rows[0].retry_count), ("Pending", 0));
    assert!(rows[0].is_unclaimed());
    let stored = stored_payload(&outbox).await;
    assert_eq!(stored, payload.to_string());

    outbox.relay(quick()).run_once().await.expect("a pass");
    let published = outbox.broker.published();
    assert_eq!(published.len(), 1);
    assert_eq!(published[0].body, stored.as_bytes());
}

async fn stored_payload(outbox: &Outbox) -> String {
    let sql = "SELECT CAST(payload AS text) AS payload FROM outbox_messages";
    let row = outbox.db.query_one_raw(Dialect::of(&outbox.db).statement(sql, [])).await;
    row.expect("an answer").expect("a row").try_get("", "payload").expect("text")
}

async fn the_published_message_has_the_properties_and_headers_of_the_contract(outbox: Outbox) {
    let before = unix_seconds();
    let trace = Trace::generate().with_state(Some("vendor=note"));
    let id = outbox
        .append(message("order-7", 3).schema_version(2).trace(&trace).header("note", "mine"))
        .await;
    let after = unix_seconds();

    let options = RelayOptions { app_id: "order-service".to_owned(), ..quick() };
    outbox.relay(options).run_once().await.expect("a pass");

    let message = &outbox.broker.published()[0];
    assert_eq!(message.routing_key, "order.placed");
    let timestamp = message.properties.timestamp.expect("a timestamp");
    assert!((before..=after).contains(&timestamp), "{before} {timestamp} {after}");
    assert_eq!(
        message.properties,
        Properties {
            message_id: Some(id.to_string()),
            kind: Some("OrderPlaced".to_owned()),
            content_type: Some("application/json".to_owned()),
            content_encoding: None,
            timestamp: Some(timestamp),
            app_id: Some("order-service".to_owned()),
        }
    );
    let headers = [
        ("aggregate-type", json!("order")),
        ("aggregate-id", json!("order-7")),
        ("aggregate-version", json!(3)),
        ("schema-version", json!(2)),
        ("traceparent", json!(trace.to_string())),
        ("tracestate", json!("vendor=note")),
        ("note", json!("mine")),
    ];
    let mut found = message.headers.clone();
    found.retain(|name, _| !name.starts_with("cloudEvents:"));
    assert_eq!(found, headers.map(|(name, value)| (name.to_owned(), value)).into());
}

/// Binary mode of CloudEvents' AMQP binding.
async fn the_published_message_is_a_cloud_event(outbox: Outbox) {
    let id = outbox.append(message("order-7", 3)).await;
    let options = RelayOptions { app_id: "order service".to_owned(), ..quick() };
    outbox.relay(options).run_once().await.expect("a pass");

    let mut attributes = outbox.broker.published()[0].headers.clone();
    attributes.retain(|name, _| name.starts_with("cloudEvents:"));
    let time = attributes.remove("cloudEvents:time").expect("a time");
    let time = time.as_str().expect("text");
    assert!(time.ends_with('Z'), "{time}");
    let time: DateTime<Utc> = time.parse().expect("RFC 3339");
    assert_eq!(time, outbox.occurred_on("order-7").await);
    let expected = [
        ("cloudEvents:specversion", json!("1.0")),
        ("cloudEvents:id", json!(id)),
        ("cloudEvents:source", json!("/order%20service")),
        ("cloudEvents:type", json!("OrderPlaced")),
        ("cloudEvents:subject", json!("order-7")),
    ];
    assert_eq!(attributes, expected.map(|(name, value)| (name.to_owned(), value)).into());
}

async fn every_attempt_to_publish_carries_the_same_headers(outbox: Outbox) {
    outbox.append(message("a", 1).trace(&Trace::generate())).await;
    outbox.broker.answer(|_| Outcome::Unknown);
    for _ in 0..3 {
        outbox.relay(quick()).run_once().await.expect("a pass");
    }
    let published = outbox.broker.published();
    assert_eq!(published.len(), 3);
    assert!(published.iter().all(|message| *message == published[0]), "{published:#?}");
}

async fn a_header_of_the_writer_never_replaces_one_of_the_contract(outbox: Outbox) {
    let message = message("a", 1)
        .header("schema-version", 9)
        .header("aggregate-type", "other")
        .header("aggregate-id", "other")
        .header("aggregate-version", 9)
        .header("cloudEvents:id", "other");
    let id = outbox.append(message).await;

    outbox.relay(quick()).run_once().await.expect("a pass");

    let headers = &outbox.broker.published()[0].headers;
    assert_eq!(headers["schema-version"], json!(1));
    assert_eq!(headers["aggregate-type"], json!("order"));
    assert_eq!(headers["cloudEvents:id"], json!(id));
    assert_eq!(headers["aggregate-id"], json!("a"));
    assert_eq!(headers["aggregate-version"], json!(1));
}

async fn a_second_message_for_one_version_of_an_aggregate_can_not_be_appended(outbox: Outbox) {
    outbox.append(message("a", 1)).await;

    let tx = begin_write(&outbox.db).await.expect("a transaction");
    let error = outbox::append(&tx, message("a", 1)).await.expect_err("the version is taken");
    assert_eq!(database::Failure::of(&error), database::Failure::Duplicate);
    drop(tx);

    assert_eq!(outbox.counts().await.pending, 1);
}

async fn any_text_and_any_number_that_json_can_hold_survives(outbox: Outbox) {
    let nested =
        (0..100).fold(json!("core"), |inner, level| json!({ "level": level, "in": [inner] }));
    let payloads = [
        json!({"nul": "a\u{0}b", "controls": "\u{1}\u{1f}\u{7f}\u{85}\u{2028}"}),
        json!({"żółć": "日本語 👩‍👩‍👧‍👦 e\u{301} \u{fffd} \u{10ffff} \u{feff} \u{202e}"}),
        json!({"quotes": "' \" \\ $1 ? :name -- /* */ %s {} \r\n\t", "": ""}),
        json!({"numbers": [u64::MAX, i64::MIN, 1.797_693_134_862_315_7e308, 5e-324, -0.0, 0.1, 1e22]}),
        nested,
        json!("just text"),
        json!(null),
        json!({"long": "x".repeat(300_000)}),
    ];
    for (number, payload) in payloads.iter().enumerate() {
        // The same text where an aggregate is named: it goes through other columns and the headers.
        let aggregate = format!("'{number}' 日本 \\ \" $1");
        let text = NewMessage::new("order", &aggregate, 1, "OrderPlaced", payload).expect("JSON");
        outbox.append(text.header("note", "nul \u{0}, 日本, '")).await;
    }

    outbox.relay(quick()).run_once().await.expect("a pass");

    let published = outbox.broker.published();
    assert_eq!(published.len(), payloads.len());
    for (number, (message, payload)) in published.iter().zip(&payloads).enumerate() {
        assert_eq!(String::from_utf8_lossy(&message.body), payload.to_string());
        assert_eq!(message.headers["aggregate-id"], json!(format!("'{number}' 日本 \\ \" $1")));
        assert_eq!(message.headers["note"], json!("nul \u{0}, 日本, '"));
    }
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
}

/// PostgreSQL only: there, `now()` is the time at which the transaction began.
#[tokio::test(flavor = "multi_thread")]
async fn the_time_of_a_message_is_when_it_was_appended_and_not_when_its_transaction_began() {
    let outbox = Outbox::new(test_kit::Backing::Servers).await;
    let (early, late) = (begin_write(&outbox.db).await, begin_write(&outbox.db).await);
    let (early, late) = (early.expect("a transaction"), late.expect("a transaction"));
    for tx in [&early, &late] {
        tx.execute_unprepared("SELECT 1").await.expect("it has begun");
    }
    // The later transaction gets the aggregate's lock first.
    outbox::append(&late, message("a", 2)).await.expect("appended");
    late.commit().await.expect("committed");
    outbox::append(&early, message("a", 3)).await.expect("appended");
    early.commit().await.expect("committed");

    let sql = "SELECT aggregate_version FROM outbox_messages ORDER BY occurred_on";
    let rows = outbox.db.query_all_raw(Dialect::Postgres.statement(sql, [])).await;
    let rows = rows.expect("rows");
    let versions: Vec<i64> =
        rows.iter().map(|row| row.try_get("", "aggregate_version").expect("a version")).collect();
    assert_eq!(versions, [2, 3]);
}
