//! A SQL broker that is stopped, on both databases.

use test_kit::connect;
use transport::sql::switch;
use transport::{Outcome, Settlement, TransportError};

use crate::broker::{
    Broker, QUEUE, end_of, messages, numbers, options, orders, publish, receive, receive_many,
    settle_all,
};
use transport::TransportOptions;

on_transport!(on_sqlite: a_stopped_broker_takes_and_gives_nothing_and_loses_nothing,
    a_broker_can_be_stopped_before_its_first_session_and_twice);
on_transport!(on_postgres: a_stopped_broker_takes_and_gives_nothing_and_loses_nothing,
    a_broker_can_be_stopped_before_its_first_session_and_twice);

fn is_stopped(error: &TransportError) {
    assert!(error.one_line().contains("the broker is stopped"), "{}", error.one_line());
}

async fn a_stopped_broker_takes_and_gives_nothing_and_loses_nothing(broker: Broker) {
    let transport = broker.transport_with(
        orders(),
        // What a session holds at the stop can't be given back: it comes again after this time.
        TransportOptions { visibility_timeout: std::time::Duration::from_secs(1), ..options() },
    );
    let publisher = transport.publisher().await.expect("a session");
    publish(&*publisher, &messages(0..2)).await;
    let mut consumer = transport.consumer(QUEUE, 1).await.expect("a session");
    let held = receive(&mut consumer).await;

    let db = connect(&broker.url).expect("a pool");
    switch::stop(&db).await.expect("stopped");
    let published = publisher.publish(&messages(2..3)).await;
    assert_eq!(published.outcomes, [Outcome::Unknown]);
    is_stopped(&published.lost.expect("a lost session"));
    is_stopped(&held.settle(Settlement::Ack).await.expect_err("no acknowledgement"));
    is_stopped(&end_of(&mut consumer).await);
    is_stopped(&transport.publisher().await.err().expect("no session"));
    is_stopped(&transport.consumer(QUEUE, 1).await.err().expect("no session"));
    let ready: u64 = transport.depths().await.expect("depths").iter().map(|d| d.ready).sum();
    assert_eq!(ready, 2, "one may look, and nothing has changed");

    switch::start(&db).await.expect("started");
    publish(&*transport.publisher().await.expect("a session"), &messages(2..3)).await;
    let mut consumer = transport.consumer(QUEUE, 3).await.expect("a session");
    let mut deliveries = receive_many(&mut consumer, 3).await;
    deliveries.sort_by_key(crate::broker::number);
    assert_eq!(numbers(&deliveries), [0, 1, 2]);
    settle_all(deliveries, Settlement::Ack).await;
}

async fn a_broker_can_be_stopped_before_its_first_session_and_twice(broker: Broker) {
    let db = connect(&broker.url).expect("a pool");
    assert!(!switch::is_stopped(&db).await.expect("an answer"));
    switch::start(&db).await.expect("nothing to do");
    for _ in 0..2 {
        switch::stop(&db).await.expect("stopped");
        assert!(switch::is_stopped(&connect(&broker.url).expect("a pool")).await.expect("yes"));
    }
    let transport = broker.transport(orders());
    is_stopped(&transport.publisher().await.err().expect("no session"));
    for _ in 0..2 {
        switch::start(&db).await.expect("started");
        assert!(!switch::is_stopped(&db).await.expect("an answer"));
    }
    publish(&*transport.publisher().await.expect("a session"), &messages(0..1)).await;
}
