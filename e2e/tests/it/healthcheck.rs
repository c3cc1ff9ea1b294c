//! The command that a container's `HEALTHCHECK` runs.

use std::process::Command;

use e2e::{Part, Shop, on_both, order_of, shop_binary};
use test_kit::{Backing, eventually};

on_both!(
    a_healthcheck_says_whether_its_process_is_ready_and_needs_nothing_but_its_address,
    a_healthcheck_of_a_process_that_is_not_ready_names_the_check_that_fails,
    a_healthcheck_of_a_frozen_process_does_not_wait_for_ever,
);

async fn a_healthcheck_says_whether_its_process_is_ready_and_needs_nothing_but_its_address(
    mut shop: Shop,
) {
    for part in Part::ALL {
        let process = shop.process(part);
        assert_eq!(process.healthcheck(), (Some(0), "ready".to_owned()), "{part:?}");
        process.kill();
        let place = process.url().trim_start_matches("http://").to_owned();
        let says = format!("not ready: nothing listens on {place}");
        assert_eq!(process.healthcheck(), (Some(1), says), "{part:?}");
    }
}

async fn a_healthcheck_of_a_process_that_is_not_ready_names_the_check_that_fails(mut shop: Shop) {
    let outage = shop.broker_goes_away().await;
    shop.place(&order_of(&[("MOUSE", 1)])).await; // an idle relay has no reason to notice
    let relay = shop.process(Part::OrdersRelay);
    eventually("the relay is not ready", || async { relay.healthcheck().0 == Some(1) }).await;
    let (_, says) = relay.healthcheck();
    assert!(says.starts_with("not ready: broker: "), "{says}");
    assert_eq!(says.lines().count(), 1, "{says}");
    let service = shop.process(Part::Orders);
    assert_eq!(service.healthcheck().0, Some(0), "the order service needs no broker");
    outage.end().await;
    let relay = shop.process(Part::OrdersRelay);
    eventually("the relay is ready again", || async { relay.healthcheck().0 == Some(0) }).await;

    if shop.storage.backing == Backing::Servers {
        shop.database_proxy().cut();
        let (code, says) = shop.process(Part::Inventory).healthcheck();
        assert_eq!(code, Some(1), "{says}");
        assert!(says.contains("database: "), "{says}");
        shop.database_proxy().heal();
        shop.is_ready().await;
    }
}

async fn a_healthcheck_of_a_frozen_process_does_not_wait_for_ever(mut shop: Shop) {
    let service = shop.process(Part::Orders);
    service.freeze().await;
    let (code, says) = service.healthcheck();
    service.signal("CONT");
    assert_eq!(code, Some(1));
    assert!(says.ends_with(": no answer within 3 s"), "{says}");
}

#[test]
fn a_healthcheck_by_an_address_that_can_not_be_read_is_refused() {
    for part in ["order-service", "inventory-service", "outbox-relay"] {
        let mut command = Command::new(shop_binary());
        command.args([part, "healthcheck"]).env_clear().env("HTTP_ADDR", "localhost");
        let output = command.output().expect("the shop's binary starts");
        assert_eq!(output.status.code(), Some(2));
        let says = String::from_utf8(output.stderr).expect("UTF-8");
        assert!(says.contains("--http-addr") && says.lines().count() == 1, "{says}");
    }
}
