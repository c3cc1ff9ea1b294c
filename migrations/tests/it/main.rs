//! The migrations on real databases: up, up again, eight at once, down and up.
//!
//! Every test runs on SQLite and on PostgreSQL (`on_sqlite`, `on_postgres`), and on the tables of
//! each service.

/// Makes four tests of each function: each database, and the tables of each service.
macro_rules! on_both_databases {
    ($($test:ident),+ $(,)?) => {
        mod on_sqlite {
            on_both_databases!(@services test_kit::Backing::Embedded, $($test),+);
        }
        mod on_postgres {
            on_both_databases!(@services test_kit::Backing::Servers, $($test),+);
        }
    };
    (@services $backing:expr, $($test:ident),+) => {
        mod orders {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                let empty = crate::bench::Empty::new($backing, migrations::Database::Orders).await;
                super::super::$test(empty).await;
            })+
        }
        mod inventory {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                let empty = crate::bench::Empty::new($backing, migrations::Database::Inventory).await;
                super::super::$test(empty).await;
            })+
        }
    };
}

mod bench;
mod limits;
mod up_and_down;
