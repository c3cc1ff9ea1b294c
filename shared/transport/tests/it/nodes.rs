//! A broker of several nodes, and what may be wrong with some of them. Each node is a way of its own
//! to the one real broker.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use test_kit::Proxy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use transport::{Settlement, Transport, TransportError, TransportOptions, connect};

use crate::broker::{
    Broker, QUEUE, end_of, message, number, open, options, orders, publish, receive, settle,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_node_is_passed_over_wherever_it_stands_in_the_list() {
    let broker = Broker::on_rabbitmq().await;
    let (dead, alive) = (node(&broker).await, node(&broker).await);
    dead.cut();
    let transport = cluster(&broker, [address(&dead), address(&alive)], options());
    // Sessions begin at another node each time: with two of each kind, the dead one comes first.
    for _ in 0..2 {
        every_kind_of_session_works(&*transport).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_swallow_everything_leave_the_others_their_part_of_the_time() {
    let broker = Broker::on_rabbitmq().await;
    // They listen, and never accept.
    let holes = [0; 2].map(|_| std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port"));
    let [one, other] = holes.each_ref().map(|hole| hole.local_addr().expect("bound").to_string());
    let alive = node(&broker).await;
    let options = TransportOptions { connect_timeout: Duration::from_secs(12), ..options() };
    let transport = cluster(&broker, [one, other, address(&alive)], options);
    // As many as there are nodes: one of them begins with both holes.
    let sessions = join_all([0; 3].map(|_| transport.publisher())).await;
    for session in sessions {
        publish(&*session.expect("a node that works"), &[message(1)]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_refuses_us_does_not_keep_us_from_the_others() {
    let broker = Broker::on_rabbitmq().await;
    let (refusing, alive) = (refusing_node().await, node(&broker).await);
    let transport = cluster(&broker, [refusing.clone(), address(&alive)], options());
    for _ in 0..2 {
        every_kind_of_session_works(&*transport).await;
    }

    alive.cut();
    let error = transport.publisher().await.err().expect("no node is left").one_line();
    assert!(error.contains(&format!("{refusing} refused access (ACCESS_REFUSED")), "{error}");
    assert!(error.contains(&format!("{} can't be reached (", address(&alive))), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn when_no_node_works_one_line_names_each_with_its_reason_and_no_password() {
    let broker = Broker::on_rabbitmq().await;
    let nodes = [node(&broker).await, node(&broker).await];
    let hole = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let hole = hole.local_addr().expect("bound").to_string();
    nodes.iter().for_each(Proxy::cut);
    let [one, other] = nodes.map(|node| address(&node));
    let options = TransportOptions { connect_timeout: Duration::from_secs(1), ..options() };
    let url = format!("amqp://shop:s3cret@{one},{other},{hole}/shop");
    let transport = connect(&url, orders(), options).expect("a valid URL");
    for error in [
        transport.publisher().await.err(),
        transport.consumer(QUEUE, 1).await.err(),
        transport.depths().await.err(),
    ] {
        let error = error.expect("no node works");
        let TransportError::NoNode { failures } = &error else { panic!("{error:?}") };
        assert_eq!(failures.len(), 3, "{error:?}");
        let line = error.one_line();
        assert!(line.starts_with("no node of the broker can be used: "), "{line}");
        for node in [&one, &other, &hole] {
            assert_eq!(line.matches(&format!("{node} ")).count(), 1, "{line}");
        }
        assert!(!line.contains('\n') && !line.contains("s3cret"), "{line}");
        assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_whose_node_dies_are_opened_again_on_another_one() {
    let broker = Broker::on_rabbitmq().await;
    let (first, second) = (node(&broker).await, node(&broker).await);
    let transport = cluster(&broker, [address(&first), address(&second)], options());
    second.cut();
    let publisher = open(|| transport.publisher()).await;
    let mut consumer = open(|| transport.consumer(QUEUE, 1)).await;
    transport.depths().await.expect("depths");
    publish(&*publisher, &[message(1)]).await;
    let held = receive(&mut consumer).await;

    second.heal();
    first.cut();
    end_of(&mut consumer).await;
    let published = publisher.publish(&[message(2)]).await;
    assert!(published.lost.is_some(), "{published:?}");
    held.settle(Settlement::Ack).await.expect_err("its node is dead");

    let mut consumer = open(|| transport.consumer(QUEUE, 1)).await;
    let again = receive(&mut consumer).await;
    assert_eq!((number(&again), again.redelivered), (1, true));
    settle(again, Settlement::Ack).await;
    publish(&*open(|| transport.publisher()).await, &[message(3)]).await;
    assert_eq!(number(&receive(&mut consumer).await), 3);
    open(|| transport.depths()).await;
}

/// A way to the real broker that can be cut.
async fn node(broker: &Broker) -> Proxy {
    let (_, rest) = broker.url.split_once('@').expect("a password");
    let (target, _) = rest.split_once('/').expect("a virtual host");
    Proxy::start(target.to_owned()).await.expect("a free port")
}

fn address(node: &Proxy) -> String {
    node.address().to_string()
}

fn cluster<const N: usize>(
    broker: &Broker,
    nodes: [String; N],
    options: TransportOptions,
) -> Arc<dyn Transport> {
    let (credentials, rest) = broker.url.split_once('@').expect("a password");
    let (_, vhost) = rest.split_once('/').expect("a virtual host");
    let url = format!("{credentials}@{}/{vhost}", nodes.join(","));
    connect(&url, orders(), options).expect("a valid URL")
}

async fn every_kind_of_session_works(transport: &dyn Transport) {
    let mut consumer = open(|| transport.consumer(QUEUE, 1)).await;
    publish(&*open(|| transport.publisher()).await, &[message(1)]).await;
    settle(receive(&mut consumer).await, Settlement::Ack).await;
    open(|| transport.depths()).await;
}

/// A node that knows neither our user nor our virtual host. It speaks just enough of AMQP to say so.
async fn refusing_node() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let address = listener.local_addr().expect("bound").to_string();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                // Its greeting, and then its credentials: each fits into one segment.
                for answer in [start(), close(403, "ACCESS_REFUSED - who are you?")] {
                    let read = client.read(&mut buffer).await;
                    if !matches!(read, Ok(1..)) || client.write_all(&answer).await.is_err() {
                        return;
                    }
                }
                // Until it hangs up.
                while matches!(client.read(&mut buffer).await, Ok(1..)) {}
            });
        }
    });
    address
}

/// `connection.start`: AMQP 0-9, no properties, one mechanism, one locale.
fn start() -> Vec<u8> {
    let mut arguments = vec![0, 9, 0, 0, 0, 0];
    for text in ["PLAIN", "en_US"] {
        arguments.extend((text.len() as u32).to_be_bytes());
        arguments.extend(text.as_bytes());
    }
    method(10, &arguments)
}

/// `connection.close`.
fn close(code: u16, text: &str) -> Vec<u8> {
    let mut arguments = code.to_be_bytes().to_vec();
    arguments.push(text.len() as u8);
    arguments.extend(text.as_bytes());
    arguments.extend([0; 4]);
    method(50, &arguments)
}

/// A frame with a method of the class `connection`, on channel 0.
fn method(id: u16, arguments: &[u8]) -> Vec<u8> {
    let mut frame = vec![1, 0, 0];
    frame.extend((arguments.len() as u32 + 4).to_be_bytes());
    frame.extend(10_u16.to_be_bytes());
    frame.extend(id.to_be_bytes());
    frame.extend(arguments);
    frame.push(0xce);
    frame
}
