//! What the tables themselves refuse, whatever the program does.

use migrations::Database;
use sea_orm_migration::sea_orm::ConnectionTrait;

use crate::bench::Empty;

on_both_databases!(the_tables_refuse_what_must_never_be_in_them);

async fn the_tables_refuse_what_must_never_be_in_them(empty: Empty) {
    empty.up().await;
    let (good, bad) = match empty.database {
        Database::Orders => (ORDERS, ORDERS_REFUSED),
        Database::Inventory => (INVENTORY, INVENTORY_REFUSED),
    };
    for statement in good.iter().chain(SHARED) {
        empty.execute(statement).await;
    }
    for statement in bad.iter().chain(SHARED_REFUSED) {
        let done = empty.db.execute_unprepared(statement).await;
        assert!(done.is_err(), "accepted: {statement}");
    }
}

const ORDERS: &[&str] = &[
    "INSERT INTO orders (id, customer_id, status, version, event_version, created_at, updated_at)
     VALUES ('o', 'c', 'Placed', 1, 1, '2026-01-01', '2026-01-01')",
    "INSERT INTO order_lines VALUES ('o', 1, 'MOUSE', 1)",
    "INSERT INTO idempotency_keys VALUES ('k', 'hash', 'o', '2026-01-01')",
];

const ORDERS_REFUSED: &[&str] = &[
    "UPDATE orders SET status = 'Lost'",
    "INSERT INTO order_lines VALUES ('o', 2, 'MOUSE', 0)",
    "INSERT INTO order_lines VALUES ('o', 1, 'KEYBOARD', 1)",
    "INSERT INTO order_lines VALUES ('nobody', 1, 'MOUSE', 1)",
    "INSERT INTO idempotency_keys VALUES ('k', 'hash', 'o', '2026-01-01')",
    "INSERT INTO idempotency_keys VALUES ('l', 'hash', 'nobody', '2026-01-01')",
];

const INVENTORY: &[&str] = &[
    "UPDATE stock_items SET reserved = 1 WHERE sku = 'LIMITED'",
    "INSERT INTO reservations VALUES ('o', 'Reserved', 1, '2026-01-01', '2026-01-01')",
    "INSERT INTO reservation_lines VALUES ('o', 'LIMITED', 1)",
];

const INVENTORY_REFUSED: &[&str] = &[
    "UPDATE stock_items SET reserved = 2 WHERE sku = 'LIMITED'",
    "UPDATE stock_items SET reserved = -1 WHERE sku = 'LIMITED'",
    "UPDATE stock_items SET on_hand = 0 WHERE sku = 'LIMITED'",
    "UPDATE reservations SET status = 'Lost'",
    "INSERT INTO reservations VALUES ('o', 'Reserved', 1, '2026-01-01', '2026-01-01')",
    "INSERT INTO reservation_lines VALUES ('o', 'MOUSE', 0)",
    "INSERT INTO reservation_lines VALUES ('o', 'LIMITED', 1)",
    "INSERT INTO reservation_lines VALUES ('o', 'UNKNOWN', 1)",
    "INSERT INTO reservation_lines VALUES ('nobody', 'MOUSE', 1)",
];

const SHARED: &[&str] = &[
    "INSERT INTO outbox_messages (message_id, aggregate_type, aggregate_id, aggregate_version,
       type, payload, occurred_on) VALUES ('m', 'order', 'o', 1, 'T', '{}', '2026-01-01')",
    "INSERT INTO inbox_messages VALUES ('c', 'm', 'hash', '2026-01-01')",
];

const SHARED_REFUSED: &[&str] = &[
    "UPDATE outbox_messages SET status = 'Lost'",
    "INSERT INTO outbox_messages (message_id, aggregate_type, aggregate_id, aggregate_version,
       type, payload, occurred_on) VALUES ('n', 'order', 'o', 1, 'T', '{}', '2026-01-01')",
    "INSERT INTO outbox_messages (message_id, aggregate_type, aggregate_id, aggregate_version,
       type, payload, occurred_on) VALUES ('m', 'order', 'o', 2, 'T', '{}', '2026-01-01')",
    "INSERT INTO inbox_messages VALUES ('c', 'm', 'other', '2026-01-01')",
];
