use sea_orm::{ConnectionTrait, DbBackend, Statement, Value};

/// The database's language. All SQL here is written once, with `$1`-style parameters that
/// both understand; this type supplies the words in which they differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite 3.35 or later.
    Sqlite,
    /// PostgreSQL 13 or later.
    Postgres,
}

/// SQLite's clock in the form in which SeaORM writes a `DateTime<Utc>`: as text it sorts like the time it means.
const SQLITE_TIME: &str = "'%Y-%m-%dT%H:%M:%f+00:00', 'now'";

impl Dialect {
    /// The dialect that a connection or transaction speaks.
    pub fn of<C: ConnectionTrait>(connection: &C) -> Self {
        match connection.get_database_backend() {
            DbBackend::Sqlite => Self::Sqlite,
            _ => Self::Postgres,
        }
    }

    /// An expression for the time by the **database's** clock. Leases compare times written by
    /// several machines: only one clock may have a say (fault 26).
    #[must_use]
    pub fn now(self) -> String {
        match self {
            Self::Sqlite => format!("strftime({SQLITE_TIME})"),
            Self::Postgres => "now()".to_owned(),
        }
    }

    /// An expression for the time at which the statement runs. [`Dialect::now`] is on PostgreSQL the
    /// time at which its transaction began: what one transaction writes after it has waited for
    /// another one's lock would look older than what that one wrote.
    #[must_use]
    pub fn moment(self) -> String {
        match self {
            Self::Sqlite => self.now(),
            Self::Postgres => "clock_timestamp()".to_owned(),
        }
    }

    /// An expression for "now plus as many milliseconds as `parameter` holds".
    #[must_use]
    pub fn now_plus_millis(self, parameter: &str) -> String {
        match self {
            Self::Sqlite => {
                format!("strftime({SQLITE_TIME}, ({parameter} / 1000.0) || ' seconds')")
            }
            Self::Postgres => {
                format!("now() + CAST({parameter} AS double precision) * interval '1 millisecond'")
            }
        }
    }

    /// An expression for "as many milliseconds ago as `parameter` holds".
    #[must_use]
    pub fn millis_ago(self, parameter: &str) -> String {
        self.now_plus_millis(&format!("(-{parameter})"))
    }

    /// An expression for the minutes since midnight in UTC, by the database's clock.
    #[must_use]
    pub fn minute_of_day(self) -> &'static str {
        match self {
            Self::Sqlite => {
                "CAST(strftime('%H', 'now') AS integer) * 60 + CAST(strftime('%M', 'now') AS integer)"
            }
            Self::Postgres => {
                "CAST(EXTRACT(hour FROM now() AT TIME ZONE 'UTC') * 60
                   + EXTRACT(minute FROM now() AT TIME ZONE 'UTC') AS bigint)"
            }
        }
    }

    /// An expression for how many milliseconds ago, by the database's clock, the time `column` was.
    #[must_use]
    pub fn age_millis(self, column: &str) -> String {
        match self {
            Self::Sqlite => {
                format!("CAST((julianday('now') - julianday({column})) * 86400000 AS integer)")
            }
            Self::Postgres => {
                format!("CAST(EXTRACT(EPOCH FROM now() - {column}) * 1000 AS bigint)")
            }
        }
    }

    /// An expression for the time `column`, or null where it is none that a program can hold. PostgreSQL
    /// knows `-infinity` and the year 294276; reading them is a panic in the library below.
    #[must_use]
    pub fn readable(self, column: &str) -> String {
        match self {
            Self::Sqlite => column.to_owned(),
            Self::Postgres => format!(
                "CASE WHEN {column} BETWEEN '0001-01-01' AND '9999-12-31' THEN {column} END"
            ),
        }
    }

    /// The end of a select that locks its rows until the transaction's end. SQLite has one writer at
    /// a time and needs none, in a transaction of [`crate::begin_write`].
    #[must_use]
    pub fn for_update(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => "FOR UPDATE",
        }
    }

    /// The end of a select whose rows nobody may change until the transaction's end. SQLite has one
    /// writer at a time and needs none.
    #[must_use]
    pub fn for_share(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => "FOR SHARE",
        }
    }

    /// The end of a select that locks the rows of `table` and passes over rows that others hold.
    /// SQLite has one writer at a time and needs none.
    #[must_use]
    pub fn skip_locked(self, table: &str) -> String {
        match self {
            Self::Sqlite => String::new(),
            Self::Postgres => format!("FOR UPDATE OF {table} SKIP LOCKED"),
        }
    }

    /// The condition "is among the ids of `parameter`", which [`Dialect::ids`] made. One parameter
    /// however many there are: one statement text, planned and prepared once.
    #[must_use]
    pub fn among(self, parameter: &str) -> String {
        match self {
            Self::Sqlite => format!("IN (SELECT value FROM json_each({parameter}))"),
            Self::Postgres => format!("= ANY(CAST({parameter} AS bigint[]))"),
        }
    }

    /// The value of such a parameter.
    pub fn ids(self, ids: impl IntoIterator<Item = i64>) -> Value {
        let list: Vec<_> = ids.into_iter().map(|id| id.to_string()).collect();
        let list = list.join(",");
        match self {
            Self::Sqlite => format!("[{list}]").into(),
            Self::Postgres => format!("{{{list}}}").into(),
        }
    }

    /// The condition "is among the ids that this select finds". PostgreSQL runs the select once and
    /// looks each id up by the primary key, whatever its statistics say; a join it may plan otherwise.
    #[must_use]
    pub fn among_select(self, select: &str) -> String {
        match self {
            Self::Sqlite => format!("IN ({select})"),
            Self::Postgres => format!("= ANY(ARRAY({select}))"),
        }
    }

    /// The column that says where a row lies: the shortest way to it within one statement, and no
    /// name for it beyond that.
    #[must_use]
    pub fn row_address(self) -> &'static str {
        match self {
            Self::Sqlite => "rowid",
            Self::Postgres => "ctid",
        }
    }

    /// A parameter that holds JSON as text and goes into a `JSON` column as it stands. Bound as a JSON
    /// value it would pass through `jsonb`, which reorders it and refuses NUL.
    #[must_use]
    pub fn json(self, parameter: &str) -> String {
        match self {
            Self::Sqlite => parameter.to_owned(),
            Self::Postgres => format!("CAST({parameter} AS json)"),
        }
    }

    /// A statement with its values.
    pub fn statement<I>(self, sql: impl Into<String>, values: I) -> Statement
    where
        I: IntoIterator<Item = Value>,
    {
        let backend = match self {
            Self::Sqlite => DbBackend::Sqlite,
            Self::Postgres => DbBackend::Postgres,
        };
        Statement::from_sql_and_values(backend, sql.into(), values)
    }

    /// The placeholders `($first, …)` for `count` values.
    #[must_use]
    pub fn placeholders(first: usize, count: usize) -> String {
        let list: Vec<_> = (first..first + count).map(|n| format!("${n}")).collect();
        format!("({})", list.join(", "))
    }
}
