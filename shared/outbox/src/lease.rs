//! What only one process may do at a time, among any number: leading, cleaning.

use std::time::Duration;

use database::Dialect;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr};

/// A name in `outbox_leases` that one process holds at a time, by the database's clock. It ends by
/// itself: a holder that dies or freezes keeps the others waiting for one lease and no longer.
#[derive(Debug, Clone)]
pub(crate) struct Lease {
    name: &'static str,
    holder: String,
    token: String,
}

impl Lease {
    pub(crate) fn new(name: &'static str, holder: &str) -> Self {
        Self { name, holder: holder.to_owned(), token: uuid::Uuid::now_v7().to_string() }
    }

    /// Takes the lease, or prolongs it, for `length` from now. False: another one holds it.
    pub(crate) async fn take(
        &self,
        db: &DatabaseConnection,
        length: Duration,
    ) -> Result<bool, DbErr> {
        let dialect = Dialect::of(db);
        let sql = format!(
            "INSERT INTO outbox_leases (name, holder, token, held_until)
             VALUES ($1, $2, $3, {until})
             ON CONFLICT (name) DO UPDATE
             SET holder = excluded.holder, token = excluded.token, held_until = excluded.held_until
             WHERE outbox_leases.token = excluded.token OR outbox_leases.held_until < {now}",
            until = dialect.now_plus_millis("$4"),
            now = dialect.now(),
        );
        let length = i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
        let values = [
            self.name.into(),
            self.holder.as_str().into(),
            self.token.as_str().into(),
            length.into(),
        ];
        let taken = db.execute_raw(dialect.statement(sql, values)).await?;
        Ok(taken.rows_affected() == 1)
    }

    /// Tells this holder from all others.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Gives it back, so that nobody has to wait for its end.
    pub(crate) async fn give_back(&self, db: &DatabaseConnection) -> Result<(), DbErr> {
        let sql = "DELETE FROM outbox_leases WHERE name = $1 AND token = $2";
        let values = [self.name.into(), self.token.as_str().into()];
        db.execute_raw(Dialect::of(db).statement(sql, values)).await.map(|_| ())
    }
}
