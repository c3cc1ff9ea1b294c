//! What batches bring: the inventory service's own work, message by message and many at a time.

use std::time::{Duration, Instant};

use clap::Args;
use database::Dialect;
use e2e::{Part, Shop, message};
use sea_orm::ConnectionTrait;
use serde_json::json;
use test_kit::Backing;

#[derive(Debug, Args)]
pub(crate) struct Settings {
    /// Orders that wait in the queue when the service starts
    #[arg(long, default_value_t = 3000)]
    orders: u32,
    /// On SQLite and the queue in SQL instead of PostgreSQL and RabbitMQ
    #[arg(long)]
    embedded: bool,
}

pub(crate) async fn run(settings: &Settings) -> anyhow::Result<()> {
    let backing = if settings.embedded { Backing::Embedded } else { Backing::Servers };
    println!("{} orders reserved by one inventory service ({backing:?})", settings.orders);
    let mut one_by_one = None;
    for (batch, concurrency) in [(1, 1), (50, 1), (100, 1), (50, 4)] {
        let rate = measure(settings.orders, backing, batch, concurrency).await?;
        let base = *one_by_one.get_or_insert(rate);
        println!(
            "  batches of {batch:>3}, {concurrency} at once  {rate:>6.0}/s  {:.1} times one by one",
            rate / base
        );
    }
    Ok(())
}

async fn measure(
    orders: u32,
    backing: Backing,
    batch: u32,
    concurrency: u32,
) -> anyhow::Result<f64> {
    let mut shop = Shop::prepared(backing).await?;
    let sql = "UPDATE stock_items SET on_hand = 1000000000";
    let statement = Dialect::of(&shop.inventory_db).statement(sql, []);
    shop.inventory_db.execute_raw(statement).await?;
    let messages: Vec<_> = (0..orders)
        .map(|_| {
            let order_id = uuid::Uuid::now_v7().to_string();
            let body = json!({
                "orderId": order_id, "customerId": "c-42", "placedAt": "2026-11-30T18:21:45Z",
                "lines": [{"sku": "KEYBOARD", "quantity": 2}, {"sku": "MOUSE", "quantity": 1}],
            });
            let mut message = message("OrderPlaced", "order.placed", &body);
            message.headers.insert("aggregate-type".to_owned(), "Order".into());
            message.headers.insert("aggregate-id".to_owned(), order_id.into());
            message.headers.insert("aggregate-version".to_owned(), 1.into());
            message
        })
        .collect();
    shop.publish(&messages).await;
    let (batch, concurrency) = (batch.to_string(), concurrency.to_string());
    let started = Instant::now();
    shop.start(
        Part::Inventory,
        &[
            ("CONSUMER_BATCH_SIZE", &batch),
            ("CONSUMER_CONCURRENCY", &concurrency),
            ("CONSUMER_PREFETCH", "400"),
        ],
    );
    while shop.count(&shop.inventory_db, "inbox_messages").await < i64::from(orders) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(f64::from(orders) / started.elapsed().as_secs_f64())
}
