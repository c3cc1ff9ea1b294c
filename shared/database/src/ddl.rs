//! Tables from one definition for both databases.

use sea_orm::{ConnectionTrait, DbErr};

use crate::Dialect;

/// Creates a table from one definition for both databases.
///
/// `columns` is what stands between the parentheses, one column or constraint a line. The types
/// `IDENTITY`, `TIMESTAMP`, `JSON` and `BYTES` become those of the database; what follows `--`
/// becomes the column's comment (SQLite keeps it in the table's own text).
///
/// # Errors
/// Whatever the database answers.
pub async fn create_table<C: ConnectionTrait>(
    connection: &C,
    table: &str,
    columns: &str,
) -> Result<(), DbErr> {
    let dialect = Dialect::of(connection);
    connection.execute_unprepared(&table_ddl(dialect, table, columns)).await?;
    if dialect == Dialect::Postgres {
        for (column, comment) in comments(columns) {
            comment_on(connection, table, column, comment).await?;
        }
    }
    Ok(())
}

/// Adds a column, defined as a line of [`create_table`] is.
///
/// # Errors
/// Whatever the database answers.
pub async fn add_column<C: ConnectionTrait>(
    connection: &C,
    table: &str,
    column: &str,
) -> Result<(), DbErr> {
    let dialect = Dialect::of(connection);
    let (code, comment) = column.split_once("--").unwrap_or((column, ""));
    let code = translate(dialect, code.trim());
    connection.execute_unprepared(&format!("ALTER TABLE {table} ADD COLUMN {code}")).await?;
    if dialect == Dialect::Postgres {
        let name = code.split_whitespace().next().unwrap_or_default();
        comment_on(connection, table, name, comment.trim()).await?;
    }
    Ok(())
}

async fn comment_on<C: ConnectionTrait>(
    connection: &C,
    table: &str,
    column: &str,
    comment: &str,
) -> Result<(), DbErr> {
    let comment = comment.replace('\'', "''");
    let sql = format!("COMMENT ON COLUMN {table}.{column} IS '{comment}'");
    connection.execute_unprepared(&sql).await.map(|_| ())
}

fn table_ddl(dialect: Dialect, table: &str, columns: &str) -> String {
    let translated: Vec<_> = columns
        .lines()
        .map(|line| {
            let (code, comment) = line.split_once("--").unwrap_or((line, ""));
            let code = translate(dialect, code);
            match comment {
                "" => code,
                comment => format!("{code}--{comment}"),
            }
        })
        .collect();
    format!("CREATE TABLE {table} ({}\n)", translated.join("\n"))
}

fn translate(dialect: Dialect, code: &str) -> String {
    let words = code.split(' ').map(|word| {
        let bare = word.trim_end_matches(',');
        let name = column_type(dialect, bare);
        name.map_or_else(|| word.to_owned(), |name| word.replace(bare, name))
    });
    words.collect::<Vec<_>>().join(" ")
}

fn column_type(dialect: Dialect, word: &str) -> Option<&'static str> {
    let (sqlite, postgres) = match word {
        "IDENTITY" => {
            ("integer PRIMARY KEY AUTOINCREMENT", "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY")
        }
        "TIMESTAMP" => ("text", "timestamptz"),
        // `json`, not `jsonb`: it keeps the text byte for byte, and the inbox hashes bytes.
        "JSON" => ("text", "json"),
        "BYTES" => ("blob", "bytea"),
        _ => return None,
    };
    Some(match dialect {
        Dialect::Sqlite => sqlite,
        Dialect::Postgres => postgres,
    })
}

fn comments(columns: &str) -> impl Iterator<Item = (&str, &str)> {
    columns.lines().filter_map(|line| {
        let (code, comment) = line.split_once("--")?;
        Some((code.split_whitespace().next()?, comment.trim()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_definition_gives_the_table_of_either_database() {
        let columns = "
  id IDENTITY, -- order of writing
  at TIMESTAMP NOT NULL
";
        assert_eq!(
            table_ddl(Dialect::Sqlite, "t", columns),
            "CREATE TABLE t (\n  id integer PRIMARY KEY AUTOINCREMENT, -- order of writing\n  at text NOT NULL\n)"
        );
        assert!(table_ddl(Dialect::Postgres, "t", columns).contains("at timestamptz NOT NULL"));
        assert_eq!(comments(columns).collect::<Vec<_>>(), [("id", "order of writing")]);
    }
}
