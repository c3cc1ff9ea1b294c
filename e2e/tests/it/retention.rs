//! Cleaning up beside the running shop, and the settings that must agree.

use std::process::{Command, Output, Stdio};

use e2e::{Part, Shop, on_both, order_of, shop_binary};
use test_kit::eventually;

on_both!(
    what_is_older_than_the_retention_is_cleaned_up_and_the_shop_goes_on,
    an_archiving_relay_loses_no_message,
);

const AT_ONCE: [(&str, &str); 2] = [("OUTBOX_RETENTION", "1ms"), ("INBOX_RETENTION", "1ms")];

async fn says(shop: &mut Shop, part: Part, line: &str) {
    let process = shop.process(part);
    eventually(line, || std::future::ready(process.log().iter().any(|log| log.ends_with(line))))
        .await;
}

async fn what_is_older_than_the_retention_is_cleaned_up_and_the_shop_goes_on(mut shop: Shop) {
    let order = shop.place(&order_of(&[("MOUSE", 1)])).await;
    shop.order_becomes(&order, "Confirmed").await;
    shop.is_consistent().await;

    shop.start(Part::OrdersRelay, &AT_ONCE);
    says(&mut shop, Part::OrdersRelay, "Cleaned up 1 processed outbox messages").await;
    shop.start(Part::Inventory, &AT_ONCE);
    says(&mut shop, Part::Inventory, "Cleaned up 1 inbox messages").await;

    assert_eq!(shop.count(&shop.orders_db, "outbox_messages").await, 0);
    assert_eq!(shop.count(&shop.inventory_db, "inbox_messages").await, 0);
    assert_eq!(shop.count(&shop.inventory_db, "outbox_messages").await, 1, "the other relay's");
    // An order whose row is gone was sent long ago.
    let (_, seen) = shop.orders().get(&format!("/orders/{order}")).await;
    assert_eq!(seen["status"], "Confirmed");
    let next = shop.place(&order_of(&[("MOUSE", 1)])).await;
    shop.order_becomes(&next, "Confirmed").await;
    shop.is_consistent().await;
}

async fn an_archiving_relay_loses_no_message(mut shop: Shop) {
    let order = shop.place(&order_of(&[("MOUSE", 1)])).await;
    shop.order_becomes(&order, "Confirmed").await;
    shop.is_consistent().await;

    let settings = [AT_ONCE[0], AT_ONCE[1], ("OUTBOX_RETENTION_MODE", "archive")];
    shop.start(Part::OrdersRelay, &settings);
    says(&mut shop, Part::OrdersRelay, "Cleaned up 1 processed outbox messages").await;

    assert_eq!(shop.count(&shop.orders_db, "outbox_messages").await, 0);
    assert_eq!(shop.count(&shop.orders_db, "outbox_archives").await, 1);
}

/// Starts a process with settings that it should refuse; should it accept them, it ends at once.
fn start_with(part: &str, settings: &[(&str, &str)]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    Command::new(shop_binary())
        .arg(part)
        .current_dir(folder.path())
        .envs([("DATABASE_URL", "sqlite://shop.db"), ("BROKER_URL", "sqlite://broker.db")])
        .envs([("HTTP_ADDR", "127.0.0.1:0"), ("STOP_WITH_STDIN", "true")])
        .envs(settings.iter().copied())
        .stdin(Stdio::null())
        .output()
        .expect("it runs")
}

#[test]
fn an_inbox_that_forgets_sooner_than_an_outbox_may_send_is_refused_by_every_process() {
    for part in ["order-service", "inventory-service", "outbox-relay"] {
        let settings = [("OUTBOX_RETENTION", "7d"), ("INBOX_RETENTION", "6d 23h")];
        let output = start_with(part, &settings);
        assert_eq!(output.status.code(), Some(2), "{part}");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            text,
            "error: INBOX_RETENTION (6days 23h) is shorter than OUTBOX_RETENTION (7days): a message \
             that is sent again would have its effect twice; make it at least as long\n",
            "{part}"
        );
        let output = start_with(part, &[("OUTBOX_RETENTION", "7d"), ("INBOX_RETENTION", "7d")]);
        assert_eq!(output.status.code(), Some(0), "{part}: just long enough");
    }
}

#[test]
fn a_window_that_is_none_is_refused() {
    let output = start_with("outbox-relay", &[("CLEANUP_WINDOW", "at night")]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("02:00-05:00") && text.lines().count() == 1, "{text}");
}
