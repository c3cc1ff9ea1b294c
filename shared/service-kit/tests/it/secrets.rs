//! A password in a file opens the database and the broker, whatever characters it has.

use clap::{Args, Command, FromArgMatches};
use sea_orm::ConnectionTrait;
use service_kit::settings::{BrokerSettings, DatabaseSettings};
use test_kit::{Backing, Storage, connect};
use transport::{Queue, Topology};

/// Characters that mean something in a URL, in a shell, or in SQL. (What Unicode 3.2 did not know,
/// such as emoji, PostgreSQL's own way of hashing passwords refuses.)
const PASSWORD: &str = r#" :/?#[]@!$&'()*+,;=%41%zz\"`|<>^{}~-_. é"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_password_of_any_characters_in_a_file_opens_the_database() {
    let storage = Storage::new(Backing::Servers);
    let url = storage.create_database("secret").await.expect("a database");
    let file = storage.folder().join("password");
    std::fs::write(&file, format!("{PASSWORD}\n")).expect("a file");
    let (_, address) = url.split_once('@').expect("a password");
    let (_, database) = address.split_once('/').expect("a database");
    let admin = connect(&url).expect("a pool");
    let quoted = PASSWORD.replace('\'', "''");
    let user = format!("CREATE USER user_of_{database} PASSWORD '{quoted}'");
    admin.execute_unprepared(&user).await.expect("a user");

    let url = format!("postgres://user_of_{database}@{address}");
    let opened = async |file: &std::path::Path| {
        let file = file.to_str().expect("UTF-8");
        let flags = ["--database-url", &url, "--database-password-file", file];
        let settings: DatabaseSettings = parsed(&flags);
        database::ping(&settings.pool("it").expect("a pool")).await
    };
    opened(&file).await.expect("the password of the file");
    std::fs::write(&file, "another").expect("a file");
    opened(&file).await.expect_err("the server does look at it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_of_any_characters_in_a_file_opens_the_broker() {
    let storage = Storage::new(Backing::Servers);
    let url = storage.create_broker().await.expect("a virtual host");
    let all = ["", "", ""].map(|_| ".*".to_owned());
    let url = storage.create_broker_user(&url, "secret", PASSWORD, &all).await.expect("a user");
    let file = storage.folder().join("password");
    std::fs::write(&file, PASSWORD).expect("a file");

    let flags = ["--broker-url", &url, "--broker-password-file", file.to_str().expect("UTF-8")];
    let settings: BrokerSettings = parsed(&flags);
    let topology = Topology {
        exchange: "events".to_owned(),
        dead_letter_exchange: "dead".to_owned(),
        queues: vec![Queue::new("queue", "#")],
    };
    let transport = settings.transport(topology, settings.options("it")).expect("a URL");
    transport.publisher().await.map(drop).expect("the password of the file");
}

fn parsed<T: Args + FromArgMatches>(flags: &[&str]) -> T {
    let command = T::augment_args(Command::new("it").no_binary_name(true));
    let matches = command.try_get_matches_from(flags).expect("settings");
    T::from_arg_matches(&matches).expect("settings")
}
