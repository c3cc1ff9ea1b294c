//! The inbox against real databases and a broker that does what the test says.
//!
//! Every test runs on SQLite and on PostgreSQL (`on_sqlite`, `on_postgres`). The broker is a fake,
//! with queues, redelivery and sessions that end when a test wants it; `real_broker` uses the real one.

/// Makes two tests of each function, one for each database.
macro_rules! on_both_databases {
    ($($test:ident),+ $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                let inbox = crate::bench::Inbox::new(test_kit::Backing::Embedded).await;
                super::$test(inbox).await;
            })+
        }
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                let inbox = crate::bench::Inbox::new(test_kit::Backing::Servers).await;
                super::$test(inbox).await;
            })+
        }
    };
}

mod actor;
mod attempts;
mod batches;
mod bench;
mod broker;
mod crash_loop;
mod dead_letters;
mod effect_once;
mod example;
mod failing_handler;
mod lanes;
mod order;
mod outages;
mod parked;
mod parking;
mod real_broker;
mod retention;
mod shutdown;
mod throughput;
mod transaction;
