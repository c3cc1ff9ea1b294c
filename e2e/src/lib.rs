//! Drives the whole shop from outside: real processes, real kills, one driver for both ways of
//! running.

mod api;
mod broker;
mod embedded;
mod lab_site;
mod onlooker;
mod process;
mod shop;

pub use api::{Api, order_of};
pub use broker::{BrokerOutage, message};
pub use embedded::{Embedded, free_ports, send};
pub use lab_site::ServerSites;
pub use process::{Part, Process, shop_binary};
pub use shop::Shop;

/// Makes of each named `async fn(Shop)` two tests, one for each way of running.
#[macro_export]
macro_rules! on_both {
    ($($test:ident),+ $(,)?) => {$(
        mod $test {
            #[tokio::test(flavor = "multi_thread")]
            async fn on_sqlite_with_the_sql_queue() {
                super::$test(e2e::Shop::open(test_kit::Backing::Embedded).await).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn on_postgresql_with_rabbitmq() {
                super::$test(e2e::Shop::open(test_kit::Backing::Servers).await).await;
            }
        }
    )+};
}
