//! What can be done to a RabbitMQ broker and to the way to it.

use std::time::Duration;

use lapin::options::{ExchangeDeleteOptions, QueueDeleteOptions};
use lapin::{Channel, Connection, ConnectionProperties};
use test_kit::{Proxy, eventually};
use transport::{Outcome, Queue, TransportError, TransportOptions, connect};

use crate::broker::{
    Broker, QUEUE, end_of, message, messages, number, numbers, options, orders, publish, queues,
    receive, until_depth,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_whose_queue_is_deleted_ends_and_a_new_one_works() {
    let broker = Broker::on_rabbitmq().await;
    let mut consumer = broker.consumer(1).await;
    let channel = admin(&broker).await;
    let options = QueueDeleteOptions::default();
    let deleted = channel.queue_delete(QUEUE.into(), options).await;
    deleted.expect("the queue was there");

    for _ in 0..2 {
        // For good: it goes on saying so.
        let ended = end_of(&mut consumer).await;
        assert!(matches!(ended, TransportError::SessionLost { .. }), "{ended}");
    }
    let mut consumer = broker.consumer(1).await;
    publish(&*broker.publisher().await, &[message(1)]).await;
    assert_eq!(number(&receive(&mut consumer).await), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_publisher_whose_exchange_is_deleted_ends_and_a_new_one_works() {
    let broker = Broker::on_rabbitmq().await;
    let publisher = broker.publisher().await;
    let channel = admin(&broker).await;
    let options = ExchangeDeleteOptions::default();
    let deleted = channel.exchange_delete("shop.events".into(), options).await;
    deleted.expect("the exchange was there");

    for _ in 0..2 {
        let published = publisher.publish(&messages(0..3)).await;
        assert_eq!(published.outcomes, vec![Outcome::Unknown; 3]);
        assert!(published.lost.is_some());
        publisher.check().await.expect_err("it has ended");
    }
    let publisher = broker.publisher().await;
    publish(&*publisher, &messages(0..3)).await;
    until_depth(&*broker.transport(orders()), QUEUE, 3).await;
}

/// lapin hands a returned message to whichever confirm comes next: with thousands in flight, a few in
/// most of these batches come on the confirm of another.
#[tokio::test(flavor = "multi_thread")]
async fn a_returned_message_never_counts_for_the_one_whose_confirm_carried_it() {
    let broker = Broker::on_rabbitmq().await;
    let publisher = broker.publisher().await;
    let is_unroutable = |number: &usize| number.is_multiple_of(26);
    let mut batch = messages(0..8000);
    for number in (0..8000).filter(is_unroutable) {
        batch[number].routing_key = "stock.counted".to_owned();
    }
    for _ in 0..6 {
        let published = publisher.publish(&batch).await;
        assert!(published.lost.is_none(), "{:?}", published.lost);
        for (number, outcome) in published.outcomes.iter().enumerate() {
            let returned = matches!(outcome, Outcome::Unroutable(_));
            assert_eq!(returned, is_unroutable(&number), "message {number}: {outcome:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_refused_and_never_shown() {
    let broker = Broker::on_rabbitmq().await;
    let (scheme, rest) = broker.url.split_once("://").expect("a URL");
    let (_, host) = rest.split_once('@').expect("a password");
    let url = format!("{scheme}://guest:s3cret@{host}");
    for error in all_session_errors(&url).await {
        assert!(matches!(error, TransportError::AccessRefused { .. }), "{error:?}");
        assert!(!error.one_line().contains("s3cret"), "{}", error.one_line());
        assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_virtual_host_that_does_not_exist_is_access_refused() {
    let broker = Broker::on_rabbitmq().await;
    for error in all_session_errors(&format!("{}-missing", broker.url)).await {
        assert!(matches!(error, TransportError::AccessRefused { .. }), "{error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_with_other_arguments_is_a_mismatch_of_the_topology() {
    let broker = Broker::on_rabbitmq().await;
    publish(&*broker.publisher().await, &[message(1)]).await;
    let other = Queue { delivery_limit: 7, ..Queue::new(QUEUE, "order.*") };
    let transport = broker.transport(queues([other]));
    for error in [transport.publisher().await.err(), transport.consumer(QUEUE, 1).await.err()] {
        let error = error.expect("the queue has another limit");
        assert!(matches!(error, TransportError::TopologyMismatch { .. }), "{error:?}");
        assert!(error.to_string().contains(QUEUE), "{error}");
    }
    // Nobody else is harmed.
    assert_eq!(number(&receive(&mut broker.consumer(1).await).await), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_in_the_queue_is_confirmed_when_the_connection_is_cut() {
    let broker = Broker::on_rabbitmq().await;
    let direct = broker.transport(orders());
    let (proxy, url) = proxied(&broker).await;
    let distant = connect(&url, orders(), options()).expect("a valid URL");
    let publisher = distant.publisher().await.expect("a publishing session");

    // Far more than fits between the first message in the queue and the cut.
    let batch = messages(0..20_000);
    let (published, ()) = tokio::join!(publisher.publish(&batch), async {
        eventually("the first messages in the queue", || async {
            let depths = direct.depths().await.expect("depths");
            depths.iter().any(|depth| depth.ready > 0)
        })
        .await;
        proxy.cut();
    });

    assert!(published.lost.is_some());
    assert!(published.outcomes.contains(&Outcome::Unknown), "cut too late");
    publisher.check().await.expect_err("it has ended");
    let confirmed = (0..batch.len()).filter(|n| match &published.outcomes[*n] {
        Outcome::Confirmed => true,
        Outcome::Unknown => false,
        other => panic!("{other:?}"),
    });

    // Behind everything that the cut left in the queue.
    let end = message(usize::MAX);
    publish(&*direct.publisher().await.expect("a session"), &[end]).await;
    let mut arrived = vec![false; batch.len()];
    let mut consumer = broker.consumer(u16::MAX).await;
    loop {
        let delivery = receive(&mut consumer).await;
        match number(&delivery) {
            usize::MAX => break,
            number => arrived[number] = true,
        }
    }
    for number in confirmed {
        assert!(arrived[number], "{number} was confirmed and is not there");
    }

    distant.publisher().await.err().expect("the way is cut");
    proxy.heal();
    let publisher = distant.publisher().await.expect("a publishing session");
    publish(&*publisher, &messages(0..3)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_whose_connection_is_cut_ends_and_its_messages_come_again() {
    let broker = Broker::on_rabbitmq().await;
    publish(&*broker.publisher().await, &messages(0..3)).await;
    let (proxy, url) = proxied(&broker).await;
    let distant = connect(&url, orders(), options()).expect("a valid URL");
    let mut consumer = distant.consumer(QUEUE, 1).await.expect("a consuming session");
    let held = receive(&mut consumer).await;
    proxy.cut();

    end_of(&mut consumer).await;
    held.settle(transport::Settlement::Ack).await.expect_err("the way is cut");
    let mut direct = broker.consumer(3).await;
    let again =
        [receive(&mut direct).await, receive(&mut direct).await, receive(&mut direct).await];
    let mut again = numbers(&again);
    again.sort_unstable();
    assert_eq!(again, [0, 1, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_says_nothing_is_given_up_in_time() {
    // It listens, and never accepts.
    let silent = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let address = silent.local_addr().expect("an address");
    let options = TransportOptions { connect_timeout: Duration::from_millis(200), ..options() };
    let url = format!("amqp://guest:guest@{address}");
    let transport = connect(&url, orders(), options).expect("a valid URL");
    for error in [
        transport.publisher().await.err(),
        transport.consumer(QUEUE, 1).await.err(),
        transport.depths().await.err(),
    ] {
        let error = error.expect("nobody answers");
        assert!(matches!(error, TransportError::TimedOut { .. }), "{error:?}");
    }
}

/// What a transport answers to each attempt to open a session.
async fn all_session_errors(url: &str) -> [TransportError; 3] {
    let transport = connect(url, orders(), options()).expect("a valid URL");
    let errors = [
        transport.publisher().await.err(),
        transport.consumer(QUEUE, 1).await.err(),
        transport.depths().await.err(),
    ];
    errors.map(|error| error.expect("no session can be opened"))
}

/// A person at the broker's console.
async fn admin(broker: &Broker) -> Channel {
    let connection = Connection::connect(&broker.url, ConnectionProperties::default()).await;
    let channel = connection.expect("a connection").create_channel().await;
    channel.expect("a channel")
}

/// A way to the broker that can be cut.
async fn proxied(broker: &Broker) -> (Proxy, String) {
    let (credentials, rest) = broker.url.split_once('@').expect("a password");
    let (target, vhost) = rest.split_once('/').expect("a virtual host");
    let proxy = Proxy::start(target.to_owned()).await.expect("a free port");
    let url = format!("{credentials}@{}/{vhost}", proxy.address());
    (proxy, url)
}
