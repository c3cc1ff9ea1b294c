use std::collections::HashMap;
use std::process::{Command, Output, Stdio};

use database::{Dialect, begin_write};
use migrations::Database;
use reqwest::StatusCode;
use sea_orm::{ConnectionTrait, DatabaseConnection};
use serde_json::Value;
use test_kit::{Backing, Proxy, Servers, Storage, eventually, eventually_some};
use transport::{Consumer, Message, Outcome, Publisher, Queue, TransportOptions};

use crate::onlooker::Onlooker;
use crate::{Api, BrokerOutage, Part, Process, shop_binary};

/// What inventory has at first.
const SEED: [(&str, i64); 5] =
    [("KEYBOARD", 1000), ("LAPTOP", 10), ("LIMITED", 1), ("MONITOR", 100), ("MOUSE", 1000)];

/// A whole shop of real processes on databases of its own.
pub struct Shop {
    /// Where its data is.
    pub storage: Storage,
    /// The order service's database.
    pub orders_db: DatabaseConnection,
    /// The inventory service's database.
    pub inventory_db: DatabaseConnection,
    orders_url: String,
    inventory_url: String,
    /// For the shop; the test's own messages go around the proxy.
    shop_broker_url: String,
    broker_url: String,
    broker_proxy: Option<Proxy>,
    database_proxy: Option<Proxy>,
    processes: HashMap<Part, Process>,
}

impl Shop {
    /// Creates databases and broker and starts all four processes.
    ///
    /// # Panics
    /// Something of it failed.
    pub async fn open(backing: Backing) -> Self {
        let mut shop = Self::prepared(backing).await.expect("storage for a shop");
        for part in Part::ALL {
            shop.start(part, &[]);
        }
        shop.is_ready().await;
        shop
    }

    /// Creates databases and broker; no process runs yet.
    ///
    /// # Errors
    /// The servers are not there.
    pub async fn prepared(backing: Backing) -> anyhow::Result<Self> {
        let storage = Storage::new(backing);
        let orders_url = storage.create_database("orders").await?;
        let inventory_url = storage.create_database("inventory").await?;
        let broker_url = storage.create_broker().await?;
        let orders_db = test_kit::connect(&orders_url)?;
        let inventory_db = test_kit::connect(&inventory_url)?;
        migrations::up(&orders_db, Database::Orders).await?;
        migrations::up(&inventory_db, Database::Inventory).await?;
        let mut shop = Self {
            storage,
            orders_db,
            inventory_db,
            orders_url,
            inventory_url,
            shop_broker_url: broker_url.clone(),
            broker_url,
            broker_proxy: None,
            database_proxy: None,
            processes: HashMap::new(),
        };
        if backing == Backing::Servers {
            shop.put_proxies_between().await?;
        }
        Ok(shop)
    }

    /// The shop reaches its servers through relays that can be cut; the test does not.
    async fn put_proxies_between(&mut self) -> anyhow::Result<()> {
        let servers = Servers::from_environment()?;
        let target = |url: &str| url.rsplit('@').next().unwrap_or_default().to_owned();
        let (broker, database) = (target(&servers.rabbitmq), target(&servers.postgres));
        let broker_proxy = Proxy::start(broker.clone()).await?;
        let database_proxy = Proxy::start(database.clone()).await?;
        let through = |proxy: &Proxy| proxy.address().to_string();
        self.shop_broker_url = self.broker_url.replace(&broker, &through(&broker_proxy));
        for url in [&mut self.orders_url, &mut self.inventory_url] {
            *url = url.replace(&database, &through(&database_proxy));
        }
        (self.broker_proxy, self.database_proxy) = (Some(broker_proxy), Some(database_proxy));
        Ok(())
    }
    /// Starts a process, with more settings if there are any. One that runs already is replaced.
    pub fn start(&mut self, part: Part, more: &[(&str, &str)]) {
        self.kill(part);
        let process = self.start_another(part, more);
        self.processes.insert(part, process);
    }

    /// Starts one more process of a kind beside the one that the shop has.
    #[must_use]
    pub fn start_another(&self, part: Part, more: &[(&str, &str)]) -> Process {
        let app_id = match part {
            Part::Orders | Part::OrdersRelay => "order-service",
            Part::Inventory | Part::InventoryRelay => "inventory-service",
        };
        let mut environment = vec![
            ("DATABASE_URL", self.database_url(part).to_owned()),
            ("BROKER_URL", self.shop_broker_url.clone()),
            ("ADMIN_TOKEN", "secret".to_owned()),
            ("BROKER_VISIBILITY_TIMEOUT", "1s".to_owned()),
            ("RELAY_LEASE", "2s".to_owned()),
            ("RELAY_APP_ID", app_id.to_owned()),
            ("RELAY_UNROUTABLE_INTERVAL", "200ms".to_owned()),
            ("CONSUMER_RETRY_DELAY", "50ms".to_owned()),
        ];
        environment.extend(more.iter().map(|(key, value)| (*key, (*value).to_owned())));
        Process::start(part, &environment)
    }

    /// `kill -9`.
    pub fn kill(&mut self, part: Part) {
        if let Some(mut process) = self.processes.remove(&part) {
            process.kill();
        }
    }

    /// A running process.
    ///
    /// # Panics
    /// It does not run.
    pub fn process(&mut self, part: Part) -> &mut Process {
        self.processes.get_mut(&part).expect("the process runs")
    }

    /// Waits until a process has aborted at its crash point.
    pub async fn has_crashed(&mut self, part: Part) {
        let process = self.process(part);
        eventually(&format!("{part:?} reaches its crash point"), || {
            std::future::ready(process.has_ended())
        })
        .await;
    }

    /// Waits until every process that runs is ready.
    pub async fn is_ready(&self) {
        for process in self.processes.values() {
            let api = Api::new(process.url());
            eventually("a process is ready", || async {
                api.get("/health/ready").await.0 == StatusCode::OK
            })
            .await;
        }
    }

    /// The order service's HTTP interface.
    ///
    /// # Panics
    /// It does not run.
    #[must_use]
    pub fn orders(&self) -> Api {
        Api::new(self.processes.get(&Part::Orders).expect("the order service runs").url())
    }

    /// The inventory service's HTTP interface.
    ///
    /// # Panics
    /// It does not run.
    #[must_use]
    pub fn inventory(&self) -> Api {
        Api::new(self.processes.get(&Part::Inventory).expect("the inventory service runs").url())
    }

    /// The HTTP interface of any of its processes.
    ///
    /// # Panics
    /// It does not run.
    #[must_use]
    pub fn api(&self, part: Part) -> Api {
        Api::new(self.processes.get(&part).expect("the process runs").url())
    }

    /// Runs a command of the relay of `part`, with the address of its database and nothing else.
    ///
    /// # Panics
    /// It did not start.
    #[must_use]
    pub fn relay_command(&self, part: Part, arguments: &[&str]) -> Output {
        self.relay_command_into(part, arguments, Stdio::piped())
    }

    /// The same, with a standard output of the caller's.
    ///
    /// # Panics
    /// It did not start.
    #[must_use]
    pub fn relay_command_into(
        &self,
        part: Part,
        arguments: &[&str],
        stdout: impl Into<Stdio>,
    ) -> Output {
        Command::new(shop_binary())
            .arg("outbox-relay")
            .args(arguments)
            .env("DATABASE_URL", self.database_url(part))
            .stdout(stdout)
            .output()
            .expect("the shop's binary starts")
    }

    /// Starts the page beside the processes of the shop. Its users may look, and nothing more.
    ///
    /// # Panics
    /// It did not start.
    #[must_use]
    pub async fn start_page(&self) -> Process {
        self.start_page_with(&[]).await
    }

    /// The same, with more settings.
    ///
    /// # Panics
    /// It did not start.
    #[must_use]
    pub async fn start_page_with(&self, more: &[(&'static str, String)]) -> Process {
        let url = |part| self.processes.get(&part).expect("the process runs").url().to_owned();
        let onlooker = self.onlooker().await.expect("users who may look");
        let mut settings = vec![
            ("ORDERS_URL", url(Part::Orders)),
            ("INVENTORY_URL", url(Part::Inventory)),
            ("ORDERS_RELAY_URL", url(Part::OrdersRelay)),
            ("INVENTORY_RELAY_URL", url(Part::InventoryRelay)),
            ("ORDERS_DATABASE_URL", onlooker.by(&self.orders_url)),
            ("INVENTORY_DATABASE_URL", onlooker.by(&self.inventory_url)),
            ("BROKER_URL", onlooker.by(&self.shop_broker_url)),
        ];
        settings.extend(more.iter().cloned());
        Process::start_page(&settings)
    }

    /// Users of databases and broker who may look, and nothing more.
    ///
    /// # Errors
    /// The servers don't make them.
    pub async fn onlooker(&self) -> anyhow::Result<Onlooker> {
        let databases = [&self.orders_db, &self.inventory_db];
        Onlooker::create(&self.storage, databases, &self.broker_url).await
    }

    /// The address of a process's database.
    #[must_use]
    pub fn database_url(&self, part: Part) -> &str {
        match part {
            Part::Orders | Part::OrdersRelay => &self.orders_url,
            Part::Inventory | Part::InventoryRelay => &self.inventory_url,
        }
    }

    /// Places an order that must be accepted, and returns its id.
    ///
    /// # Panics
    /// It was not accepted.
    pub async fn place(&self, order: &Value) -> String {
        let (status, body) = self.orders().post("/orders", order).await;
        assert_eq!(status, StatusCode::CREATED, "{body}");
        body["orderId"].as_str().expect("an order id").to_owned()
    }

    /// Waits until an order has this status, and returns it.
    pub async fn order_becomes(&self, order_id: &str, status: &str) -> Value {
        let api = self.orders();
        eventually_some(&format!("order {order_id} becomes {status}"), || async {
            let (_, order) = api.get(&format!("/orders/{order_id}")).await;
            (order["status"] == status).then_some(order)
        })
        .await
    }

    /// One item of the stock.
    ///
    /// # Panics
    /// There is no such item.
    pub async fn reserved(&self, sku: &str) -> i64 {
        let (_, item) = self.inventory().get(&format!("/stock/{sku}")).await;
        item["reserved"].as_i64().expect("a number")
    }

    /// Whether nobody keeps the orders database's write lock: SQLite has one, and a process that is
    /// frozen in mid-write keeps it.
    pub async fn orders_can_be_written(&self) -> bool {
        match begin_write(&self.orders_db).await {
            Ok(tx) => tx.rollback().await.is_ok(),
            Err(_) => false,
        }
    }

    /// Takes the broker away.
    ///
    /// # Panics
    /// It can't be taken away.
    pub async fn broker_goes_away(&self) -> BrokerOutage {
        self.try_broker_goes_away().await.expect("an outage")
    }

    /// The same, where somebody may hold the queue's one write lock.
    ///
    /// # Errors
    /// It can't be taken away.
    pub async fn try_broker_goes_away(&self) -> anyhow::Result<BrokerOutage> {
        BrokerOutage::begin(self.broker_proxy.as_ref(), &self.broker_url).await
    }

    /// The way to PostgreSQL, for tests that cut it.
    ///
    /// # Panics
    /// The shop runs on SQLite.
    #[must_use]
    pub fn database_proxy(&self) -> &Proxy {
        self.database_proxy.as_ref().expect("PostgreSQL")
    }

    /// A publishing session of a foreign program.
    ///
    /// # Panics
    /// The broker is not there.
    pub async fn stranger(&self) -> Box<dyn Publisher> {
        let options = TransportOptions::default();
        let transport = transport::connect(&self.broker_url, contracts::topology(), options);
        transport.expect("a broker URL").publisher().await.expect("a session")
    }

    /// A queue of the test's own that gets everything that is published from now on.
    ///
    /// # Panics
    /// The broker is not there.
    pub async fn tap(&self) -> Box<dyn Consumer> {
        let mut topology = contracts::topology();
        topology.queues.push(Queue::new("tap", "#"));
        let options = TransportOptions::default();
        let transport = transport::connect(&self.broker_url, topology, options);
        transport.expect("a broker URL").consumer("tap", 100).await.expect("a session")
    }

    /// Publishes messages as a foreign program, and waits for the broker's confirms.
    ///
    /// # Panics
    /// The broker did not confirm all of them.
    pub async fn publish(&self, messages: &[Message]) {
        let published = self.stranger().await.publish(messages).await;
        let all_confirmed = published.outcomes.iter().all(|outcome| *outcome == Outcome::Confirmed);
        assert!(all_confirmed, "{published:?}");
    }

    /// The time in so many seconds, by the clock of the orders database, as text.
    ///
    /// # Panics
    /// The database is not there.
    pub async fn now_plus(&self, seconds: i64) -> String {
        let dialect = Dialect::of(&self.orders_db);
        let later = dialect.now_plus_millis(&(seconds * 1000).to_string());
        let sql = format!("SELECT CAST({later} AS text) AS later");
        let row = self.orders_db.query_one_raw(dialect.statement(sql, [])).await;
        row.expect("an answer").expect("a row").try_get("", "later").expect("text")
    }

    /// A number from a database.
    ///
    /// # Panics
    /// The query failed or gave no number called `n`.
    pub async fn count(&self, db: &DatabaseConnection, what: &str) -> i64 {
        let sql = format!("SELECT COUNT(*) AS n FROM {what}");
        let row = db.query_one_raw(Dialect::of(db).statement(sql, [])).await;
        row.expect("an answer").expect("a row").try_get("", "n").expect("a number")
    }

    /// Waits until nothing is on its way any more, then checks what must hold in every shop.
    ///
    /// # Panics
    /// Something was lost or doubled.
    pub async fn is_consistent(&self) {
        let (orders, inventory) = (&self.orders_db, &self.inventory_db);
        eventually("all messages are sent and all orders decided", || async {
            self.count(orders, "outbox_messages WHERE status <> 'Sent'").await == 0
                && self.count(inventory, "outbox_messages WHERE status <> 'Sent'").await == 0
                && self.count(orders, "orders WHERE status IN ('Placed', 'Cancelling')").await == 0
        })
        .await;
        self.orders_agree_with_reservations().await;
        self.stock_adds_up().await;
    }

    async fn orders_agree_with_reservations(&self) {
        let decided = |status| format!("orders WHERE status = '{status}'");
        let reserved = |status| format!("reservations WHERE status = '{status}'");
        for (order, reservation) in
            [("Confirmed", "Reserved"), ("Rejected", "Rejected"), ("Cancelled", "Released")]
        {
            let of_orders = self.count(&self.orders_db, &decided(order)).await;
            let of_inventory = self.count(&self.inventory_db, &reserved(reservation)).await;
            assert_eq!(of_orders, of_inventory, "{order} orders, {reservation} reservations");
        }
    }

    /// Stock is what it was at first, minus what is reserved.
    async fn stock_adds_up(&self) {
        let sql = "SELECT s.sku AS sku, s.on_hand AS on_hand, s.reserved AS reserved,
                     CAST(COALESCE(SUM(l.quantity), 0) AS bigint) AS lines
                   FROM stock_items s
                   LEFT JOIN (SELECT l.sku, l.quantity FROM reservation_lines l
                     JOIN reservations r ON r.order_id = l.order_id AND r.status = 'Reserved') l
                     ON l.sku = s.sku
                   GROUP BY s.sku, s.on_hand, s.reserved";
        let statement = Dialect::of(&self.inventory_db).statement(sql, []);
        let rows = self.inventory_db.query_all_raw(statement).await.expect("stock");
        assert_eq!(rows.len(), SEED.len());
        for row in rows {
            let sku: String = row.try_get("", "sku").expect("sku");
            let number = |column| row.try_get::<i64>("", column).expect("a number");
            let seed = SEED.iter().find(|(seed, _)| *seed == sku).map(|(_, on_hand)| *on_hand);
            assert_eq!(Some(number("on_hand")), seed, "{sku}");
            assert_eq!(number("reserved"), number("lines"), "{sku}: reserved, sum of reservations");
        }
    }
}
