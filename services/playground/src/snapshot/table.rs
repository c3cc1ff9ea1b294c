//! One table, as rows of text and numbers.

use database::Dialect;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr, QueryResult};
use serde::Serialize;
use serde_json::{Value, json};

/// Rows of each table that the page shows.
const ROWS: usize = 20;

#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Table {
    pub(super) total: i64,
    pub(super) columns: Vec<&'static str>,
    pub(super) rows: Vec<Vec<Value>>,
}

/// A table of the page: which columns, and the query that gives them as text or numbers, newest first.
pub(super) struct Query {
    pub(super) name: &'static str,
    pub(super) table: &'static str,
    pub(super) columns: &'static [&'static str],
    pub(super) sql: &'static str,
}

pub(super) async fn read_table(db: &DatabaseConnection, query: &Query) -> Result<Table, DbErr> {
    let dialect = Dialect::of(db);
    let lines = match dialect {
        Dialect::Sqlite => "group_concat(l.sku || ' × ' || l.quantity, ', ')",
        Dialect::Postgres => "string_agg(l.sku || ' × ' || l.quantity, ', ')",
    };
    let sql = with_times(dialect, &query.sql.replace("{lines}", lines));
    let sql = format!("{} LIMIT {ROWS}", sql.replace("{now}", &dialect.now()));
    let rows = db.query_all_raw(dialect.statement(sql, [])).await?;
    let rows = rows.iter().map(|row| cells(row, query.columns.len())).collect::<Result<_, _>>()?;
    let total = count(db, query.table).await?;
    Ok(Table { total, columns: query.columns.to_vec(), rows })
}

/// How many rows there are of `what`: a table, and a condition if there is one.
pub(super) async fn count(db: &DatabaseConnection, what: &str) -> Result<i64, DbErr> {
    let sql = format!("SELECT COUNT(*) AS n FROM {what}");
    let counted = db.query_one_raw(Dialect::of(db).statement(sql, [])).await?;
    counted.map_or(Ok(0), |row| row.try_get("", "n"))
}

/// Puts an RFC 3339 text in place of each `{time(column)}`.
fn with_times(dialect: Dialect, sql: &str) -> String {
    let (before, after) = match dialect {
        Dialect::Sqlite => ("(", ")"),
        Dialect::Postgres => {
            ("to_char(", " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
        }
    };
    sql.replace("{time(", before).replace(")}", after)
}

fn cells(row: &QueryResult, count: usize) -> Result<Vec<Value>, DbErr> {
    (0..count).map(|index| cell(row, index)).collect()
}

/// Text, or else a number.
fn cell(row: &QueryResult, index: usize) -> Result<Value, DbErr> {
    if let Ok(text) = row.try_get_by_index::<Option<String>>(index) {
        return Ok(json!(text));
    }
    if let Ok(number) = row.try_get_by_index::<Option<i32>>(index) {
        return Ok(json!(number));
    }
    Ok(json!(row.try_get_by_index::<Option<i64>>(index)?))
}
