//! Which rows a relay may publish next: every query that claims.
//!
//! A claim never reads over rows that can't be claimed, however many there are. Sent rows are in none
//! of its indexes. A row that is to be tried later stands behind all that are due
//! (`outbox_messages_due`). What is left are rows that wait behind an earlier one of their aggregate;
//! of those it reads one window at most ([`due`]). Where that window holds nothing else, it steps from
//! aggregate to aggregate instead ([`heads_after`]).

use std::time::Duration;

use chrono::{DateTime, Utc};
use database::Dialect;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr, Value};

use crate::DeadLetterPolicy;
use crate::rows::Rows;

/// What every claim says: who, with which fencing token, for how long, how many rows at most.
#[derive(Debug)]
pub(crate) struct Claim<'a> {
    pub(crate) owner: String,
    pub(crate) token: &'a str,
    pub(crate) lease: Duration,
    pub(crate) limit: u32,
    pub(crate) dead_letters: DeadLetterPolicy,
}

/// An aggregate's place in the order in which [`heads_after`] goes through them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Place {
    aggregate_type: String,
    aggregate_id: String,
}

/// Claims the longest due rows that are heads of their aggregates, in one statement.
///
/// The *head* is the row with no earlier unsent row of its aggregate. So one aggregate's messages are
/// never in flight together, in this relay or in any other, and no failure can change their order.
/// Rows that another relay is claiming right now are passed over; so are those that were due before
/// `floor`.
pub(crate) async fn due(
    db: &DatabaseConnection,
    claim: &Claim<'_>,
    floor: Option<DateTime<Utc>>,
) -> Result<Rows, DbErr> {
    let dialect = Dialect::of(db);
    let limit = claim.limit;
    let above_floor = match floor {
        Some(_) => "AND COALESCE(next_attempt_at, occurred_on) >= $4",
        None => "",
    };
    // No ORDER BY outside: rows come as the window has them, and the limit stops the search.
    let select = format!(
        "SELECT m.id FROM (
           SELECT id FROM outbox_messages
           WHERE status = 'Pending' AND {unclaimed}
             AND COALESCE(next_attempt_at, occurred_on) <= {now} {above_floor}
           ORDER BY COALESCE(next_attempt_at, occurred_on), id LIMIT {window}) due
         CROSS JOIN outbox_messages m
         WHERE m.id = due.id AND {claimable} LIMIT {limit} {skip_locked}",
        unclaimed = unclaimed(dialect, "outbox_messages"),
        now = dialect.now(),
        window = limit.saturating_mul(2),
        claimable = claimable_head(dialect, claim.dead_letters),
        skip_locked = dialect.skip_locked("m"),
    );
    carry_out(db, claim, &select, floor.map(Value::from).into_iter().collect()).await
}

/// Claims those of `ids` that are due heads still.
pub(crate) async fn heads(
    db: &DatabaseConnection,
    claim: &Claim<'_>,
    ids: Vec<i64>,
) -> Result<Rows, DbErr> {
    let dialect = Dialect::of(db);
    let select = format!(
        "SELECT m.id FROM outbox_messages m
         WHERE m.id {among} AND COALESCE(m.next_attempt_at, m.occurred_on) <= {now}
           AND {claimable} LIMIT {limit} {skip_locked}",
        among = dialect.among("$4"),
        now = dialect.now(),
        claimable = claimable_head(dialect, claim.dead_letters),
        limit = claim.limit,
        skip_locked = dialect.skip_locked("m"),
    );
    carry_out(db, claim, &select, vec![dialect.ids(ids)]).await
}

/// Claims the first rows of the whole outbox, whatever their aggregates: for the leader of this `token`,
/// which publishes one after another. Nothing, when any of them is claimed still by an earlier leader,
/// or is dead. A row whose earlier version comes later (it is to be tried again) is left out.
pub(crate) async fn front(
    db: &DatabaseConnection,
    claim: &Claim<'_>,
    token: &str,
) -> Result<Rows, DbErr> {
    let dialect = Dialect::of(db);
    let nothing_dead = match claim.dead_letters {
        DeadLetterPolicy::Wait => {
            "AND NOT EXISTS (SELECT 1 FROM outbox_messages WHERE status = 'Dead')"
        }
        DeadLetterPolicy::Skip => "",
    };
    // Until this statement has ended, nobody else can take the lead: then the next leader sees what it
    // has claimed.
    let select = format!(
        "WITH our_lead AS (
           SELECT 1 AS yes FROM outbox_leases
           WHERE name = 'leader' AND token = $4 AND held_until > {now} {for_share}),
         front AS (
           SELECT id, aggregate_type, aggregate_id, aggregate_version, claimed_until,
             COALESCE(next_attempt_at, occurred_on) AS due
           FROM outbox_messages WHERE status = 'Pending'
           ORDER BY COALESCE(next_attempt_at, occurred_on), id LIMIT {limit})
         SELECT id FROM front
         WHERE EXISTS (SELECT 1 FROM our_lead)
           AND NOT EXISTS (SELECT 1 FROM front WHERE claimed_until >= {now}) {nothing_dead}
           AND (
             SELECT 1 FROM outbox_messages earlier
             WHERE earlier.aggregate_type = front.aggregate_type
               AND earlier.aggregate_id = front.aggregate_id
               AND earlier.aggregate_version < front.aggregate_version
               AND (COALESCE(earlier.next_attempt_at, earlier.occurred_on), earlier.id)
                 > (front.due, front.id)
               AND {blocking} LIMIT 1) IS NULL",
        for_share = dialect.for_share(),
        limit = claim.limit,
        now = dialect.now(),
        blocking = blocking(claim.dead_letters, "earlier"),
    );
    carry_out(db, claim, &select, vec![token.into()]).await
}

/// The heads of the next aggregates after `place` that have unsent rows, `count` of them at most, and
/// the place of the last one. It steps through the index from one aggregate to the next: what it costs
/// does not depend on how many rows wait behind each.
pub(crate) async fn heads_after(
    db: &DatabaseConnection,
    place: &Place,
    dead_letters: DeadLetterPolicy,
    count: u32,
) -> Result<(Vec<i64>, Option<Place>), DbErr> {
    let blocking = blocking(dead_letters, "outbox_messages");
    let dialect = Dialect::of(db);
    let sql = match dialect {
        Dialect::Postgres => format!(
            "WITH RECURSIVE walk(id, aggregate_type, aggregate_id, step) AS (
               SELECT CAST(NULL AS bigint), $1, $2, 0
               UNION ALL
               SELECT next.id, next.aggregate_type, next.aggregate_id, walk.step + 1
               FROM walk CROSS JOIN LATERAL (
                 SELECT id, aggregate_type, aggregate_id FROM outbox_messages
                 WHERE {blocking} AND (aggregate_type, aggregate_id)
                   > (walk.aggregate_type, walk.aggregate_id)
                 ORDER BY aggregate_type, aggregate_id, aggregate_version LIMIT 1) next
               WHERE walk.step < {count})
             SELECT id, aggregate_type, aggregate_id FROM walk WHERE step > 0 ORDER BY step"
        ),
        // No LATERAL here, but reading over an index is cheap. MIN makes `id` that of the head.
        Dialect::Sqlite => format!(
            "SELECT id, aggregate_type, aggregate_id, MIN(aggregate_version)
             FROM outbox_messages
             WHERE {blocking} AND (aggregate_type, aggregate_id) > ($1, $2)
             GROUP BY aggregate_type, aggregate_id
             ORDER BY aggregate_type, aggregate_id LIMIT {count}"
        ),
    };
    let values = [place.aggregate_type.as_str().into(), place.aggregate_id.as_str().into()];
    let rows = db.query_all_raw(dialect.statement(sql, values)).await?;
    let ids = rows.iter().map(|row| row.try_get("", "id")).collect::<Result<_, _>>()?;
    let last = rows.last().map(|row| {
        Ok::<_, DbErr>(Place {
            aggregate_type: row.try_get("", "aggregate_type")?,
            aggregate_id: row.try_get("", "aggregate_id")?,
        })
    });
    Ok((ids, last.transpose()?))
}

/// Nobody has the row, or its claim has ended.
fn unclaimed(dialect: Dialect, table: &str) -> String {
    let now = dialect.now();
    format!("({table}.claimed_until IS NULL OR {table}.claimed_until < {now})")
}

/// `m` is pending, unclaimed, and the head of its aggregate.
fn claimable_head(dialect: Dialect, dead_letters: DeadLetterPolicy) -> String {
    format!(
        "{pending} AND {unclaimed} AND (
           SELECT 1 FROM outbox_messages earlier
           WHERE earlier.aggregate_type = m.aggregate_type
             AND earlier.aggregate_id = m.aggregate_id
             AND earlier.aggregate_version < m.aggregate_version
             AND {blocking} LIMIT 1) IS NULL",
        blocking = blocking(dead_letters, "earlier"),
        pending = pending("m"),
        unclaimed = unclaimed(dialect, "m"),
    )
}

/// The row of `table` is pending, for a row that is looked up by its id.
///
/// It is worded for PostgreSQL's planner, which before its next ANALYZE may believe that no rows are
/// pending. To read a whole index of pending rows then looks as cheap as one lookup, and it would do
/// so once for each row: 1,000 times 100,000. `status = 'Pending'` would offer it such an index.
pub(crate) fn pending(table: &str) -> String {
    format!("{table}.status NOT IN ('Sent', 'Dead', 'Discarded')")
}

/// The row of `table` blocks later ones of its aggregate; worded as the index `outbox_messages_blocking`
/// is, and so that no other index of pending rows fits.
fn blocking(dead_letters: DeadLetterPolicy, table: &str) -> String {
    let blocking = format!("{table}.status IN ('Pending', 'Dead') AND {table}.id > 0");
    match dead_letters {
        DeadLetterPolicy::Wait => blocking,
        DeadLetterPolicy::Skip => format!("{blocking} AND {table}.status <> 'Dead'"),
    }
}

/// Claims what `select` finds. It has `$1` to `$3` already.
async fn carry_out(
    db: &DatabaseConnection,
    claim: &Claim<'_>,
    select: &str,
    more: Vec<Value>,
) -> Result<Rows, DbErr> {
    let dialect = Dialect::of(db);
    let sql = format!(
        "UPDATE outbox_messages
         SET claimed_by = $1, claim_token = $2, claimed_until = {until}
         WHERE id {among} AND {pending} AND {unclaimed}
         RETURNING id, message_id, aggregate_type, aggregate_id, aggregate_version, type,
           schema_version, CAST(payload AS text) AS payload, CAST(headers AS text) AS headers,
           {occurred_on} AS occurred_on, {due} AS due, retry_count",
        occurred_on = dialect.readable("occurred_on"),
        due = dialect.readable("COALESCE(next_attempt_at, occurred_on)"),
        until = dialect.now_plus_millis("$3"),
        among = dialect.among_select(select),
        pending = pending("outbox_messages"),
        unclaimed = unclaimed(dialect, "outbox_messages"),
    );
    let lease = i64::try_from(claim.lease.as_millis()).unwrap_or(i64::MAX);
    let mut values = vec![claim.owner.as_str().into(), claim.token.into(), lease.into()];
    values.extend(more);
    Rows::read(&db.query_all_raw(dialect.statement(sql, values)).await?)
}
