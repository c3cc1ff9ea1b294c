//! A pool with several servers in its URL. Each is a way of its own to the one real server.

use database::{Hint, PoolSettings, listen};
use sea_orm::{ConnectionTrait, DatabaseConnection};
use test_kit::{Backing, Proxy, Storage, connect, eventually};
use tokio_util::sync::CancellationToken;

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_away_is_passed_over_wherever_it_stands_in_the_list() {
    let server = Server::start().await;
    server.first.cut();
    until_it_works(&server.pool()).await;
    server.first.heal();
    server.second.cut();
    until_it_works(&server.pool()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_in_use_follows_a_failover_there_and_back_and_hints_do_too() {
    let server = Server::start().await;
    server.second.cut();
    let db = server.pool();
    until_it_works(&db).await;
    let (hint, stop) = (Hint::default(), CancellationToken::new());
    listen(&db, "failover", hint.clone(), stop.clone());
    for (dies, lives) in [(&server.first, &server.second), (&server.second, &server.first)] {
        lives.heal();
        dies.cut();
        until_it_works(&db).await;
        let direct = connect(&server.url).expect("a pool");
        eventually("a hint over the other server", || async {
            direct.execute_unprepared("NOTIFY failover").await.expect("the server works");
            hint.given().await;
            true
        })
        .await;
    }
    stop.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_accepts_no_writes_any_more_is_refused_by_old_and_new_connections() {
    let server = Server::start().await;
    // The server's own word for it can't be had without a second server: this one speaks for it.
    let admin = connect(&server.url).expect("a pool");
    let shadow = "CREATE SCHEMA shadow; CREATE TABLE shadow.demoted (is_so boolean NOT NULL);
        INSERT INTO shadow.demoted VALUES (false);
        CREATE FUNCTION shadow.pg_is_in_recovery() RETURNS boolean LANGUAGE sql
            AS 'SELECT is_so FROM shadow.demoted';";
    admin.execute_unprepared(shadow).await.expect("a shadow");
    let database = server.url.rsplit_once('/').expect("a database").1;
    let path = format!("ALTER DATABASE {database} SET search_path = shadow, pg_catalog, public");
    admin.execute_unprepared(&path).await.expect("it comes first");

    let old = server.pool();
    until_it_works(&old).await;
    eventually("its connection back in the pool", || async {
        old.get_postgres_connection_pool().num_idle() == 1
    })
    .await;
    admin.execute_unprepared("UPDATE shadow.demoted SET is_so = true").await.expect("demoted");
    old.execute_unprepared("SELECT 1").await.expect_err("its connection was there before");
    let new = server.pool();
    new.execute_unprepared("SELECT 1").await.expect_err("its connection is new");
    admin.execute_unprepared("UPDATE shadow.demoted SET is_so = false").await.expect("promoted");
    until_it_works(&old).await;
    until_it_works(&new).await;
}

/// One database behind two addresses.
struct Server {
    _storage: Storage,
    url: String,
    first: Proxy,
    second: Proxy,
}

impl Server {
    async fn start() -> Self {
        let storage = Storage::new(Backing::Servers);
        let url = storage.create_database("hosts").await.expect("a database");
        let (_, address) = url.split_once('@').expect("a password");
        let (target, _) = address.split_once('/').expect("a database");
        let [first, second] =
            [Proxy::start(target.into()).await, Proxy::start(target.into()).await];
        let (first, second) = (first.expect("a port"), second.expect("a port"));
        Self { _storage: storage, url, first, second }
    }

    fn pool(&self) -> DatabaseConnection {
        let (credentials, address) = self.url.split_once('@').expect("a password");
        let (_, database) = address.split_once('/').expect("a database");
        let hosts = format!("{},{}", self.first.address(), self.second.address());
        let url = format!("{credentials}@{hosts}/{database}?target_session_attrs=read-write");
        let settings = PoolSettings { application_name: "hosts".to_owned(), max_connections: 2 };
        database::connect(&url, &settings).expect("a URL")
    }
}

async fn until_it_works(db: &DatabaseConnection) {
    eventually("an answer from the other server", || async {
        db.execute_unprepared("SELECT 1").await.is_ok()
    })
    .await;
}
