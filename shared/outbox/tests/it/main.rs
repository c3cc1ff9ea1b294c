//! The outbox against real databases and a broker that does what the test says.
//!
//! Every test runs on SQLite and on PostgreSQL (`on_sqlite`, `on_postgres`). The broker is a fake:
//! it keeps what it was given and answers as scripted, so that each answer, the lost one too, comes
//! exactly when a test wants it.

/// Makes two tests of each function, one for each database.
macro_rules! on_both_databases {
    ($($test:ident),+ $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                let outbox = crate::bench::Outbox::new(test_kit::Backing::Embedded).await;
                super::$test(outbox).await;
            })+
        }
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                let outbox = crate::bench::Outbox::new(test_kit::Backing::Servers).await;
                super::$test(outbox).await;
            })+
        }
    };
}

mod append;
mod bench;
mod blocked;
mod broker;
mod claim;
mod dead_letters;
mod example;
mod garbage;
mod leader;
mod lease;
mod looks;
mod order;
mod outages;
mod outcomes;
mod overlap;
mod properties;
mod publication;
mod retention;
mod shutdown;
mod wake_up;
