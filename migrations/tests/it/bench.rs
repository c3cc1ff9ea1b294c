//! An empty database, and questions about what is in it.

use database::Dialect;
use migrations::Database;
use sea_orm_migration::sea_orm::{ConnectionTrait, DatabaseConnection};
use test_kit::{Backing, Storage, connect};

/// Where a test starts.
pub(crate) struct Empty {
    pub(crate) db: DatabaseConnection,
    pub(crate) database: Database,
    url: String,
    _storage: Storage,
}

impl Empty {
    pub(crate) async fn new(backing: Backing, database: Database) -> Self {
        let storage = Storage::new(backing);
        let url = storage.create_database("migrations").await.expect("a database");
        let db = connect(&url).expect("a pool");
        Self { db, database, url, _storage: storage }
    }

    pub(crate) async fn up(&self) {
        migrations::up(&self.db, self.database).await.expect("up");
    }

    pub(crate) async fn down(&self) {
        migrations::down(&self.db, self.database).await.expect("down");
    }

    /// Another pool on the same database, as another process has it.
    pub(crate) fn another_pool(&self) -> DatabaseConnection {
        connect(&self.url).expect("a pool")
    }

    /// The names of all tables, in the order of the alphabet, without those of the tools.
    pub(crate) async fn tables(&self) -> Vec<String> {
        let sql = match Dialect::of(&self.db) {
            Dialect::Sqlite => {
                "SELECT name FROM sqlite_master
                 WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> 'seaql_migrations'"
            }
            Dialect::Postgres => {
                "SELECT CAST(tablename AS text) AS name FROM pg_tables
                 WHERE schemaname = 'public' AND tablename <> 'seaql_migrations'"
            }
        };
        self.texts(sql).await
    }

    /// Tables, columns, indexes and constraints as sorted lines, to be compared.
    pub(crate) async fn everything(&self) -> Vec<String> {
        let sql = match Dialect::of(&self.db) {
            Dialect::Sqlite => {
                "SELECT type || ' ' || name || ' ' || coalesce(sql, '') AS name FROM sqlite_master"
            }
            Dialect::Postgres => {
                "SELECT concat_ws(' ', table_name, column_name, ordinal_position, data_type,
                   is_nullable, column_default) AS name
                 FROM information_schema.columns WHERE table_schema = 'public'
                 UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
                 UNION ALL SELECT conrelid::regclass || ' ' || pg_get_constraintdef(oid)
                 FROM pg_constraint WHERE connamespace = 'public'::regnamespace"
            }
        };
        self.texts(sql).await
    }

    /// The `name` of each row, sorted.
    pub(crate) async fn texts(&self, sql: &str) -> Vec<String> {
        let statement = Dialect::of(&self.db).statement(sql, []);
        let rows = self.db.query_all_raw(statement).await.expect(sql);
        let mut texts: Vec<String> =
            rows.iter().map(|row| row.try_get("", "name").expect("text")).collect();
        texts.sort_unstable();
        texts
    }

    pub(crate) async fn execute(&self, sql: &str) {
        self.db.execute_unprepared(sql).await.expect(sql);
    }
}
