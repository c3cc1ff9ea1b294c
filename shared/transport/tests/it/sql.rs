//! What only the SQL transport promises, on both databases.

use std::time::Duration;

use futures_util::FutureExt;
use sea_orm::{ConnectionTrait, DatabaseConnection, Statement};
use test_kit::{connect, eventually, eventually_some};
use transport::{Properties, Settlement, TransportOptions};

use crate::broker::{
    Broker, QUEUE, messages, number, numbers, options, orders, publish, receive, receive_many,
    settle, settle_all,
};

macro_rules! on_both_databases {
    ($($test:ident),+ $(,)?) => {
        on_transport!(on_sqlite: $($test),+);
        on_transport!(on_postgres: $($test),+);
    };
}

on_both_databases!(
    requeued_messages_go_back_to_their_old_places,
    a_lease_is_renewed_as_long_as_its_holder_lives,
    a_row_that_somebody_else_wrote_badly_is_delivered_and_stops_nobody,
);

async fn requeued_messages_go_back_to_their_old_places(broker: Broker) {
    publish(&*broker.publisher().await, &messages(0..300)).await;
    let mut consumer = broker.consumer(300).await;
    let mut held = receive_many(&mut consumer, 300).await;
    // In an order that is neither that of the queue nor its reverse.
    held.sort_by_key(|delivery| number(delivery) * 7 % 300);
    settle_all(held, Settlement::Requeue).await;
    // Some are on their way to it again. The next session must not begin while it holds some of them:
    // it would get the others first.
    drop(consumer);
    let db = connect(&broker.url).expect("a pool");
    eventually("nobody holds any", async || count(&db, "leased_until IS NOT NULL").await == 0)
        .await;

    let again = receive_many(&mut broker.consumer(300).await, 300).await;
    assert_eq!(numbers(&again), (0..300).collect::<Vec<_>>());
}

async fn a_lease_is_renewed_as_long_as_its_holder_lives(broker: Broker) {
    publish(&*broker.publisher().await, &messages(0..1)).await;
    let short = TransportOptions { visibility_timeout: Duration::from_secs(2), ..options() };
    let transport = broker.transport_with(orders(), short);
    let mut holder = transport.consumer(QUEUE, 1).await.expect("a session");
    let held = receive(&mut holder).await;

    let depths = transport.depths().await.expect("depths");
    assert!(depths.iter().any(|depth| (depth.ready, depth.unacked) == (0, Some(1))), "{depths:?}");
    let mut rival = broker.consumer(1).await;

    let db = connect(&broker.url).expect("a pool");
    // Three renewals fit into one lease: after five, the first one would have ended.
    let mut lease = leased_until(&db).await;
    for _ in 0..5 {
        let last = lease.clone();
        lease = eventually_some("a renewed lease", || async {
            let lease = leased_until(&db).await;
            (lease != last).then_some(lease)
        })
        .await;
    }
    assert!(rival.next().now_or_never().is_none(), "it was taken away");
    settle(held, Settlement::Ack).await;
}

async fn a_row_that_somebody_else_wrote_badly_is_delivered_and_stops_nobody(broker: Broker) {
    publish(&*broker.publisher().await, &messages(0..2)).await;
    let db = connect(&broker.url).expect("a pool");
    let sql = "UPDATE broker_messages SET properties = '7', headers = '[]'
               WHERE id = (SELECT MIN(id) FROM broker_messages)";
    db.execute_unprepared(sql).await.expect("written");

    let mut consumer = broker.consumer(10).await;
    let bad = receive(&mut consumer).await;
    assert_eq!(bad.message.properties, Properties::default());
    assert_eq!(bad.message.body, messages(0..1)[0].body, "its body is intact");
    assert_eq!(number(&receive(&mut consumer).await), 1);
}

async fn count(db: &DatabaseConnection, condition: &str) -> i64 {
    let sql = format!("SELECT COUNT(*) AS n FROM broker_messages WHERE {condition}");
    let question = Statement::from_string(db.get_database_backend(), sql);
    let row = db.query_one_raw(question).await.expect("an answer");
    row.expect("a row").try_get("", "n").expect("a number")
}

async fn leased_until(db: &DatabaseConnection) -> String {
    let sql = "SELECT CAST(leased_until AS text) AS until FROM broker_messages";
    let question = Statement::from_string(db.get_database_backend(), sql);
    let row = db.query_one_raw(question).await.expect("an answer");
    let row = row.expect("the message is there");
    row.try_get("", "until").expect("a lease")
}
