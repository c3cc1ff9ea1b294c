//! Eight relays on one outbox, while some are killed and one is frozen past its lease.
//!
//! `E2E_MESSAGES` makes it larger than the daily run: 20000 is the size by which it is judged.

use std::collections::{HashMap, HashSet};

use e2e::{Part, Process, Shop};
use sea_orm::ConnectionTrait;
use test_kit::{Backing, eventually, eventually_some};
use transport::{Message, Settlement};

const RELAYS: usize = 8;
const AGGREGATES: i64 = 50;
const BATCH: usize = 20;
const IN_FLIGHT: usize = 2;
/// Seconds.
const LEASE: i64 = 1;

mod eight_relays_lose_nothing_and_keep_every_order_while_three_are_killed_and_one_is_frozen {
    #[tokio::test(flavor = "multi_thread")]
    async fn on_sqlite_with_the_sql_queue() {
        super::check(test_kit::Backing::Embedded).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn on_postgresql_with_rabbitmq() {
        super::check(test_kit::Backing::Servers).await;
    }
}

mod one_unroutable_one_oversized_and_one_garbage_row_hold_up_nobody_else {
    #[tokio::test(flavor = "multi_thread")]
    async fn on_sqlite_with_the_sql_queue() {
        super::three_bad_rows(test_kit::Backing::Embedded).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn on_postgresql_with_rabbitmq() {
        super::three_bad_rows(test_kit::Backing::Servers).await;
    }
}

async fn check(backing: Backing) {
    let messages = std::env::var("E2E_MESSAGES").map_or(2000, |n| n.parse().expect("a number"));
    let shop = Shop::prepared(backing).await.expect("storage for a shop");
    let mut relays: Vec<_> = (0..RELAYS).map(|_| relay(&shop)).collect();
    let mut tap = shop.tap().await;

    // Each fault has a quarter of the messages, so that there is work to strike at.
    let quarter = messages / 4;
    let mut orphaned = 0;
    for start in [0, quarter, 2 * quarter] {
        insert(&shop, start..start + quarter).await;
        let victim = stopped_with_a_claim(&shop, &relays).await;
        let mut killed = relays.remove(victim);
        killed.kill();
        orphaned += claims(&shop, &killed).await;
    }
    insert(&shop, 3 * quarter..messages).await;
    let frozen = frozen_with_a_claim(&shop, &relays).await;
    until_its_lease_has_ended(&shop).await;
    relays[frozen].signal("CONT");
    assert!(orphaned > 0, "three were killed, and none of them had a claim: nothing was tested");

    // The first of each message, and how many came in all.
    let (mut seen, mut versions, mut taken) = (HashSet::new(), HashMap::<_, Vec<i64>>::new(), 0);
    while seen.len() < usize::try_from(messages).expect("a number") {
        let delivery = tap.next().await.expect("a message");
        taken += 1;
        if seen.insert(delivery.message.properties.message_id.clone()) {
            let (aggregate, version) = place(&delivery.message);
            versions.entry(aggregate).or_default().push(version);
        }
        delivery.settle(Settlement::Ack).await.expect("acknowledged");
    }

    let sent = "outbox_messages WHERE status = 'Sent' AND retry_count = 0";
    eventually("all rows are sent", async || shop.count(&shop.orders_db, sent).await == messages)
        .await;
    for (aggregate, versions) in &versions {
        assert!(
            versions.iter().copied().eq(1..=messages / AGGREGATES),
            "{aggregate}: {versions:?}"
        );
    }
    let (doubles, limit) = (taken - seen.len(), 4 * BATCH * IN_FLIGHT);
    assert!(doubles <= limit, "{doubles} doubles, at most {limit} for three kills and one freeze");
}

/// Stops one of the relays while it holds a claim. A relay that was too quick goes on, and the next
/// one is tried.
async fn stopped_with_a_claim(shop: &Shop, relays: &[Process]) -> usize {
    eventually_some("a relay is stopped with a claim in hand", || try_to_stop(shop, relays)).await
}

/// The same, for a relay that is to stay so for a while.
async fn frozen_with_a_claim(shop: &Shop, relays: &[Process]) -> usize {
    if shop.storage.backing == Backing::Servers {
        return stopped_with_a_claim(shop, relays).await;
    }
    // In the middle of a write it would keep SQLite's one write lock, and with it everybody else. So
    // it is stopped while it waits for the broker.
    eventually_some("a relay is stopped while it waits for the broker", || async {
        let outage = shop.try_broker_goes_away().await.ok()?;
        let found = try_to_stop(shop, relays).await;
        let free = match found {
            Some(_) => database::begin_write(&shop.orders_db).await.ok(),
            None => None,
        };
        outage.end().await;
        let Some(tx) = free else {
            found.into_iter().for_each(|number| relays[number].signal("CONT"));
            return None;
        };
        tx.rollback().await.expect("the lock is given back");
        found
    })
    .await
}

async fn try_to_stop(shop: &Shop, relays: &[Process]) -> Option<usize> {
    for (number, relay) in relays.iter().enumerate() {
        if claims(shop, relay).await == 0 {
            continue;
        }
        relay.freeze().await;
        if nothing_is_under_way(shop, relay).await && claims(shop, relay).await > 0 {
            return Some(number);
        }
        relay.signal("CONT");
    }
    None
}

/// PostgreSQL: a statement of a stopped relay goes on, and may be the one that ends its claim.
async fn nothing_is_under_way(shop: &Shop, relay: &Process) -> bool {
    let running = format!(
        "pg_stat_activity WHERE state = 'active' AND application_name LIKE '%-{}%'",
        relay.pid()
    );
    shop.storage.backing == Backing::Embedded || shop.count(&shop.orders_db, &running).await == 0
}

/// The rows that it has claimed; a relay's name ends with its process id.
async fn claims(shop: &Shop, relay: &Process) -> i64 {
    let owned =
        format!("outbox_messages WHERE status = 'Pending' AND claimed_by LIKE '%-{}'", relay.pid());
    shop.count(&shop.orders_db, &owned).await
}

fn relay(shop: &Shop) -> Process {
    let settings = [
        ("RELAY_BATCH_SIZE", BATCH.to_string()),
        ("RELAY_BATCHES_IN_FLIGHT", IN_FLIGHT.to_string()),
        ("RELAY_LEASE", format!("{LEASE}s")),
    ];
    let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    shop.start_another(Part::OrdersRelay, &settings)
}

/// Until every claim that a stopped relay may hold has ended, by the database's clock.
async fn until_its_lease_has_ended(shop: &Shop) {
    // Both as text: of one length and one offset, it sorts like the time it means.
    let until = shop.now_plus(LEASE).await;
    eventually("its lease has ended", async || shop.now_plus(0).await > until).await;
}

async fn insert(shop: &Shop, numbers: std::ops::Range<i64>) {
    let tx = database::begin_write(&shop.orders_db).await.expect("a transaction");
    for number in numbers {
        let (aggregate, version) = (number % AGGREGATES, number / AGGREGATES + 1);
        let body = serde_json::json!({"n": number});
        let id = format!("a{aggregate}");
        let message = outbox::NewMessage::new("Order", id, version, "OrderPlaced", &body);
        outbox::append(&tx, message.expect("JSON")).await.expect("appended");
    }
    tx.commit().await.expect("committed");
}

fn place(message: &Message) -> (String, i64) {
    let header = |name| message.headers.get(name);
    let aggregate = header("aggregate-id").and_then(|id| id.as_str()).expect("an aggregate");
    let version = header("aggregate-version").and_then(|it| it.as_i64()).expect("a version");
    (aggregate.to_owned(), version)
}

async fn three_bad_rows(backing: Backing) {
    let shop = Shop::prepared(backing).await.expect("storage for a shop");
    insert(&shop, 0..997).await;
    for (name, message_id, kind, payload) in [
        ("unroutable", "0192d000-0000-7000-8000-000000000001", "NobodyKnows", "{}".to_owned()),
        ("oversized", "0192d000-0000-7000-8000-000000000002", "OrderPlaced", oversized()),
        ("garbage", "no-uuid", "OrderPlaced", "{}".to_owned()),
    ] {
        let sql = format!(
            "INSERT INTO outbox_messages (message_id, aggregate_type, aggregate_id,
               aggregate_version, type, payload, occurred_on)
             VALUES ('{message_id}', 'Order', '{name}', 1, '{kind}', '{payload}',
               '2026-01-01T00:00:00+00:00')"
        );
        shop.orders_db.execute_unprepared(&sql).await.expect("inserted");
    }

    let _relay = shop.start_another(
        Part::OrdersRelay,
        &[("RELAY_BACKOFF_BASE", "1h"), ("RELAY_UNROUTABLE_INTERVAL", "1h")],
    );

    let sent = "outbox_messages WHERE status = 'Sent'";
    eventually("the others are sent", async || shop.count(&shop.orders_db, sent).await == 997)
        .await;
    for (name, tries, why) in [
        ("unroutable", 0, "unroutable: "),
        ("oversized", 1, "bytes"),
        ("garbage", 1, "can''t be read: "),
    ] {
        let explained = format!(
            "outbox_messages WHERE aggregate_id = '{name}' AND status = 'Pending'
             AND retry_count = {tries} AND last_error LIKE '%{why}%'"
        );
        eventually(&format!("{name} is explained"), async || {
            shop.count(&shop.orders_db, &explained).await == 1
        })
        .await;
    }
}

/// Larger than the relay sends.
fn oversized() -> String {
    format!("\"{}\"", "x".repeat(5 * 1024 * 1024))
}
