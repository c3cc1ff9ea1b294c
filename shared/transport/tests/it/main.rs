//! What every transport promises, asked of every transport.
//!
//! Each test is written once and runs on the SQL transport on SQLite, on the same on PostgreSQL,
//! and on RabbitMQ. A new transport is one line in `on_every_transport` and a function in
//! [`broker`] that makes an empty broker of its kind. What only one kind can do, or have done to
//! it, is in `rabbitmq` and `sql`.

/// Runs the tests on brokers made by one function of [`broker::Broker`].
macro_rules! on_transport {
    ($transport:ident: $($test:ident),+) => {
        mod $transport {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                super::$test(crate::broker::Broker::$transport().await).await;
            })+
        }
    };
}

/// Makes a test of each function for each transport.
macro_rules! on_every_transport {
    ($($test:ident),+ $(,)?) => {
        on_transport!(on_sqlite: $($test),+);
        on_transport!(on_postgres: $($test),+);
        on_transport!(on_rabbitmq: $($test),+);
    };
}

mod broker;
mod consuming;
mod dead_letters;
mod nodes;
mod opening;
mod publishing;
mod rabbitmq;
mod routing;
mod settling;
mod sql;
mod switch;
mod urls;
