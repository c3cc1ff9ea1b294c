//! The last version of each aggregate whose effect is in this database.

use std::collections::{BTreeMap, BTreeSet};

use database::Dialect;
use sea_orm::{ConnectionTrait, DbErr, Value};

use crate::aggregate::Aggregate;

/// An aggregate's last version; absent means 0, since versions begin with 1.
pub(crate) type Positions = BTreeMap<Aggregate, i64>;

/// Reads the positions of `aggregates`.
pub(crate) async fn read<C: ConnectionTrait>(
    db: &C,
    consumer: &str,
    aggregates: &BTreeSet<&Aggregate>,
) -> Result<Positions, DbErr> {
    if aggregates.is_empty() {
        return Ok(Positions::new());
    }
    let pairs: Vec<_> =
        (1..=aggregates.len()).map(|n| format!("(${}, ${})", 2 * n, 2 * n + 1)).collect();
    let sql = format!(
        "SELECT aggregate_type, aggregate_id, aggregate_version FROM inbox_positions
         WHERE consumer = $1 AND (aggregate_type, aggregate_id) IN (VALUES {})",
        pairs.join(", ")
    );
    let names = aggregates.iter().flat_map(|aggregate| aggregate.values());
    let values = std::iter::once(consumer.into()).chain(names);
    let mut positions = Positions::new();
    for row in db.query_all_raw(Dialect::of(db).statement(sql, values)).await? {
        let aggregate = Aggregate {
            kind: row.try_get("", "aggregate_type")?,
            id: row.try_get("", "aggregate_id")?,
        };
        positions.insert(aggregate, row.try_get("", "aggregate_version")?);
    }
    Ok(positions)
}

/// Moves aggregates on to new versions. False when one of them is as far or farther already:
/// another consumer has moved it since it was read, and the transaction must be run again.
pub(crate) async fn advance<C: ConnectionTrait>(
    tx: &C,
    consumer: &str,
    positions: &Positions,
) -> Result<bool, DbErr> {
    if positions.is_empty() {
        return Ok(true);
    }
    let dialect = Dialect::of(tx);
    let rows: Vec<_> = (0..positions.len())
        .map(|n| 3 * n + 2)
        .map(|n| format!("($1, ${}, ${}, ${}, {})", n, n + 1, n + 2, dialect.now()))
        .collect();
    // The rows are sorted: two consumers never lock them in opposite orders.
    let sql = format!(
        "INSERT INTO inbox_positions
           (consumer, aggregate_type, aggregate_id, aggregate_version, updated_at)
         VALUES {} ON CONFLICT (consumer, aggregate_type, aggregate_id) DO UPDATE
           SET aggregate_version = excluded.aggregate_version, updated_at = excluded.updated_at
           WHERE inbox_positions.aggregate_version < excluded.aggregate_version",
        rows.join(", ")
    );
    let values = positions.iter().flat_map(|(aggregate, version)| {
        let [kind, id] = aggregate.values();
        [kind, id, Value::from(*version)]
    });
    let values = std::iter::once(consumer.into()).chain(values);
    let moved = tx.execute_raw(dialect.statement(sql, values)).await?.rows_affected();
    Ok(moved == positions.len() as u64)
}
