//! `/metrics`: what it says is so, and what it says is documented.

use std::collections::BTreeSet;

use e2e::{Part, Shop, on_both, order_of};
use sea_orm::ConnectionTrait;
use test_kit::{Backing, eventually};

on_both!(the_metrics_are_those_of_the_contract, the_metrics_show_the_backlog_and_what_became_of_it,);

/// The metrics that the contract's table has for a program.
fn documented(of: &str) -> BTreeSet<String> {
    let contract = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/contract.md");
    let contract = std::fs::read_to_string(contract).expect("the contract");
    let (_, section) = contract.split_once("\n## Metrics\n").expect("the metrics");
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.map(|row| row.split(" | ").collect::<Vec<_>>());
    let own = cells.filter(|cells| ["all", of].contains(&cells[2]));
    own.map(|cells| cells[0].trim_matches(['|', '`', ' ']).to_owned()).collect()
}

async fn the_metrics_are_those_of_the_contract(shop: Shop) {
    for (part, of) in [
        (Part::Orders, "services"),
        (Part::Inventory, "services"),
        (Part::OrdersRelay, "relay"),
        (Part::InventoryRelay, "relay"),
    ] {
        let shown = shop.api(part).metrics().await;
        let name = |shown: &String| shown.split('{').next().unwrap_or_default().to_owned();
        assert_eq!(shown.keys().map(name).collect::<BTreeSet<_>>(), documented(of), "{part:?}");
        let version = format!("build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
        assert_eq!(shown[&version], 1.0);
    }
}

async fn the_metrics_show_the_backlog_and_what_became_of_it(shop: Shop) {
    let relay = shop.api(Part::OrdersRelay);
    let before = shop.place(&order_of(&[("MOUSE", 1)])).await;
    shop.order_becomes(&before, "Confirmed").await;
    let outage = shop.broker_goes_away().await;
    for _ in 0..3 {
        shop.place(&order_of(&[("MOUSE", 1)])).await;
    }
    eventually("the backlog shows", || async {
        let shown = relay.metrics().await;
        shown["outbox_pending_messages"] == 3.0
            && shown["outbox_oldest_pending_age_seconds"] > 0.0
            && shown["outbox_sent_total"] == 1.0
            && shown["broker_connected"] == 0.0
    })
    .await;
    outage.end().await;
    eventually("the backlog is gone", || async {
        let shown = relay.metrics().await;
        shown["outbox_pending_messages"] == 0.0
            && shown["outbox_oldest_pending_age_seconds"] == 0.0
            && shown["outbox_sent_total"] == 4.0
            && shown["broker_connected"] == 1.0
            && shown["database_connected"] == 1.0
    })
    .await;
    for part in [Part::Orders, Part::Inventory] {
        let service = shop.api(part);
        eventually("all are processed", || async {
            service.metrics().await["inbox_processed_total"] == 4.0
        })
        .await;
    }
    assert!(relay.metrics().await["outbox_claimed_total"] >= 4.0);

    let dies = "UPDATE outbox_messages SET status = 'Dead', sent_at = NULL";
    shop.orders_db.execute_unprepared(dies).await.expect("four dead rows");
    eventually("the dead ones show", || async {
        relay.metrics().await["outbox_dead_messages"] == 4.0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_database_is_away_the_metrics_answer_without_its_figures() {
    let shop = Shop::open(Backing::Servers).await;
    let relay = shop.api(Part::OrdersRelay);
    assert_eq!(relay.metrics().await["outbox_figures_up"], 1.0);
    shop.database_proxy().cut();
    eventually("the figures are left out", || async {
        let shown = relay.metrics().await;
        shown["outbox_figures_up"] == 0.0
            && !shown.contains_key("outbox_pending_messages")
            && shown.contains_key("outbox_sent_total")
            && shown["database_connected"] == 0.0
    })
    .await;
    shop.database_proxy().heal();
    eventually("the figures are back", || async {
        let shown = relay.metrics().await;
        shown["outbox_figures_up"] == 1.0 && shown["outbox_pending_messages"] == 0.0
    })
    .await;
}
