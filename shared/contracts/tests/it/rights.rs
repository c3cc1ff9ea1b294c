//! With `BROKER_DECLARE=own` each process works with the rights of `broker-rights.json`, and can do
//! nothing else with them. On a real RabbitMQ, for nobody else knows its rules.

use std::sync::Arc;

use contracts::{ORDER_EVENTS_QUEUE, STOCK_EVENTS_QUEUE, topology};
use lapin::options::{
    BasicConsumeOptions, BasicGetOptions, BasicPublishOptions, ConfirmSelectOptions,
    ExchangeDeclareOptions, ExchangeDeleteOptions, QueueBindOptions, QueueDeclareOptions,
    QueueDeleteOptions, QueuePurgeOptions,
};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties, ErrorKind, ExchangeKind};
use serde_json::Value;
use test_kit::{Backing, Storage};
use transport::{
    Consumer, Declare, Message, Outcome, Settlement, Transport, TransportError, TransportOptions,
};

const RIGHTS: &str = include_str!("../../broker-rights.json");
const CONTRACT: &str = include_str!("../../../../docs/contract.md");

const EVENTS: &str = "shop.events";
const DEAD_LETTERS: &str = "shop.dead-letters";

#[tokio::test(flavor = "multi_thread")]
async fn with_the_least_rights_orders_and_replies_and_dead_letters_go_their_way() {
    let shop = Shop::open().await;
    let relay = shop.transport("orders-relay").await;
    let early = relay.publisher().await.err().expect("nobody has declared anything yet");
    assert!(matches!(early, TransportError::ExchangeMissing { .. }), "{early:?}");
    assert!(early.to_string().starts_with("exchange shop.events does not exist yet"), "{early}");
    let page = shop.transport("playground").await;
    assert_eq!(page.depths().await.expect("no queue yet"), []);

    let inventory = shop.transport("inventory-service").await;
    let mut placed = inventory.consumer(ORDER_EVENTS_QUEUE, 10).await.expect("inventory");
    let orders = shop.transport("order-service").await;
    let mut results = orders.consumer(STOCK_EVENTS_QUEUE, 10).await.expect("orders");

    publish(&*relay, "order.placed").await;
    settle(&mut placed, Settlement::Ack).await;
    publish(&*shop.transport("inventory-relay").await, "stock.reserved").await;
    settle(&mut results, Settlement::Ack).await;

    publish(&*relay, "order.cancelled").await;
    settle(&mut placed, Settlement::DeadLetter).await;
    let dead = format!("{ORDER_EVENTS_QUEUE}.dead");
    let mut dead = inventory.consumer(&dead, 10).await.expect("its dead letters");
    settle(&mut dead, Settlement::Ack).await;

    let depths = page.depths().await.expect("depths");
    assert_eq!(depths.len(), 4, "{depths:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_can_do_nothing_but_publish_events() {
    let shop = Shop::declared().await;
    for user in ["orders-relay", "inventory-relay"] {
        for queue in all_queues() {
            shop.refuses_reading(user, &queue).await;
            shop.refuses_changing(user, &queue).await;
        }
        for exchange in [DEAD_LETTERS, ""] {
            shop.refuses_publishing(user, exchange).await;
        }
        shop.refuses_changing_exchanges(user).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_can_neither_publish_events_nor_touch_the_other_ones_queues() {
    let shop = Shop::declared().await;
    for (user, own) in
        [("order-service", STOCK_EVENTS_QUEUE), ("inventory-service", ORDER_EVENTS_QUEUE)]
    {
        for exchange in [EVENTS, ""] {
            shop.refuses_publishing(user, exchange).await;
        }
        for queue in all_queues().iter().filter(|queue| !queue.starts_with(own)) {
            shop.refuses_reading(user, queue).await;
            shop.refuses_changing(user, queue).await;
        }
        let channel = shop.channel(user).await;
        let options = QueueDeclareOptions::default();
        let another = channel.queue_declare("another".into(), options, FieldTable::default());
        refused(another.await, "a queue of another name");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_can_only_look() {
    let shop = Shop::declared().await;
    for queue in all_queues() {
        shop.refuses_reading("playground", &queue).await;
        shop.refuses_changing("playground", &queue).await;
    }
    for exchange in [EVENTS, DEAD_LETTERS, ""] {
        shop.refuses_publishing("playground", exchange).await;
    }
    shop.refuses_changing_exchanges("playground").await;
}

#[test]
fn the_contract_shows_the_rights_to_the_letter() {
    let (_, section) = CONTRACT.split_once("\n### Rights at the broker\n").expect("the section");
    let section = section.split("\n#").next().unwrap_or_default();
    for user in users() {
        // A vertical bar would end the table's cell.
        let cells = rights(&user).map(|right| format!("`{}`", right.replace('|', r"\|")));
        let row = format!("| `{user}` | {} |", cells.join(" | "));
        assert!(section.contains(&row), "the table lacks\n{row}");
    }
}

/// An empty virtual host with the five users.
struct Shop {
    storage: Storage,
    url: String,
}

impl Shop {
    async fn open() -> Self {
        let storage = Storage::new(Backing::Servers);
        let url = storage.create_broker().await.expect("a virtual host");
        Self { storage, url }
    }

    /// With everything declared already.
    async fn declared() -> Self {
        let shop = Self::open().await;
        let all = transport::connect(&shop.url, topology(), TransportOptions::default());
        drop(all.expect("a URL").publisher().await.expect("everything is declared"));
        shop
    }

    async fn user_url(&self, user: &str) -> String {
        let rights = rights(user);
        let created = self.storage.create_broker_user(&self.url, user, "secret", &rights).await;
        created.expect("a user").replacen('@', ":secret@", 1)
    }

    /// What the process of this name has, with `BROKER_DECLARE=own`.
    async fn transport(&self, user: &str) -> Arc<dyn Transport> {
        let options = TransportOptions { declare: Declare::Own, ..TransportOptions::default() };
        transport::connect(&self.user_url(user).await, topology(), options).expect("a URL")
    }

    /// What somebody has who got hold of its password. The broker closes it at each refusal.
    async fn channel(&self, user: &str) -> Channel {
        let url = self.user_url(user).await;
        let connection = Connection::connect(&url, ConnectionProperties::default()).await;
        connection.expect("a connection").create_channel().await.expect("a channel")
    }

    async fn refuses_reading(&self, user: &str, queue: &str) {
        let channel = self.channel(user).await;
        let options = BasicConsumeOptions::default();
        let consumed =
            channel.basic_consume(queue.into(), "".into(), options, FieldTable::default()).await;
        refused(consumed, &format!("{user} consumes {queue}"));
        let channel = self.channel(user).await;
        let got = channel.basic_get(queue.into(), BasicGetOptions::default()).await;
        refused(got, &format!("{user} gets from {queue}"));
        let channel = self.channel(user).await;
        let purged = channel.queue_purge(queue.into(), QueuePurgeOptions::default()).await;
        refused(purged, &format!("{user} purges {queue}"));
    }

    async fn refuses_changing(&self, user: &str, queue: &str) {
        let channel = self.channel(user).await;
        let deleted = channel.queue_delete(queue.into(), QueueDeleteOptions::default()).await;
        refused(deleted, &format!("{user} deletes {queue}"));
        let channel = self.channel(user).await;
        let (options, none) = (QueueBindOptions::default(), FieldTable::default());
        let bound = channel.queue_bind(queue.into(), EVENTS.into(), "#".into(), options, none);
        refused(bound.await, &format!("{user} binds {queue}"));
    }

    async fn refuses_publishing(&self, user: &str, exchange: &str) {
        let channel = self.channel(user).await;
        channel.confirm_select(ConfirmSelectOptions::default()).await.expect("confirms");
        let (key, options) = (STOCK_EVENTS_QUEUE.into(), BasicPublishOptions::default());
        let none = BasicProperties::default();
        let sent = channel.basic_publish(exchange.into(), key, options, b"{}", none).await;
        let confirmed = sent.expect("it leaves").await;
        refused(confirmed, &format!("{user} publishes to {exchange:?}"));
    }

    async fn refuses_changing_exchanges(&self, user: &str) {
        for exchange in [EVENTS, DEAD_LETTERS] {
            let channel = self.channel(user).await;
            let deleted =
                channel.exchange_delete(exchange.into(), ExchangeDeleteOptions::default());
            refused(deleted.await, &format!("{user} deletes {exchange}"));
        }
        let channel = self.channel(user).await;
        let (kind, options) = (ExchangeKind::Topic, ExchangeDeclareOptions::default());
        let another =
            channel.exchange_declare("another".into(), kind, options, FieldTable::default());
        refused(another.await, &format!("{user} declares an exchange"));
    }
}

/// The broker said that it is not allowed, and nothing else went wrong.
fn refused<T>(answer: Result<T, lapin::Error>, what: &str) {
    let Err(error) = answer else { panic!("{what}: it is allowed") };
    match error.kind() {
        ErrorKind::ProtocolError(refusal) => assert_eq!(refusal.get_id(), 403, "{what}: {error}"),
        _ => panic!("{what}: {error}"),
    }
}

async fn publish(transport: &dyn Transport, routing_key: &str) {
    let publisher = transport.publisher().await.expect("a publishing session");
    let message = Message { routing_key: routing_key.to_owned(), ..Message::default() };
    let published = publisher.publish(&[message]).await;
    assert_eq!(published.outcomes, [Outcome::Confirmed], "{published:?}");
}

async fn settle(consumer: &mut Box<dyn Consumer>, settlement: Settlement) {
    let delivery = consumer.next().await.expect("a delivery");
    delivery.settle(settlement).await.expect("settled");
}

fn all_queues() -> Vec<String> {
    let own = [ORDER_EVENTS_QUEUE, STOCK_EVENTS_QUEUE];
    let behind = |queue| ["", ".dead", ".unreadable"].map(|end| format!("{queue}{end}"));
    own.into_iter().flat_map(behind).collect()
}

fn permissions() -> Vec<Value> {
    let mut file: Value = serde_json::from_str(RIGHTS).expect("JSON");
    serde_json::from_value(file["permissions"].take()).expect("a list")
}

fn users() -> Vec<String> {
    let name = |entry: &Value| entry["user"].as_str().expect("a name").to_owned();
    permissions().iter().map(name).collect()
}

/// What a user may configure, write and read.
fn rights(user: &str) -> [String; 3] {
    let found = permissions().into_iter().find(|entry| entry["user"] == user);
    let found = found.unwrap_or_else(|| panic!("{user} has no rights"));
    ["configure", "write", "read"].map(|right| found[right].as_str().expect("text").to_owned())
}
