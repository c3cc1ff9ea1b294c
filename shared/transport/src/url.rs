/// The URL with its password replaced, fit for logs and error messages.
#[must_use]
pub fn redact(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return "(not a URL)".to_owned();
    };
    // PostgreSQL's URLs may carry the password in the query.
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) if query.to_ascii_lowercase().contains("password=") => (rest, "?***"),
        _ => (rest, ""),
    };
    // It may itself contain an unescaped '@', '/' or '#': only the last '@' is sure to end it.
    match rest.rsplit_once('@') {
        Some((user_info, host)) => {
            let user = user_info.split([':', '/', '?', '#']).next().unwrap_or_default();
            format!("{scheme}://{user}:***@{host}{query}")
        }
        None => format!("{scheme}://{rest}{query}"),
    }
}

#[cfg(test)]
mod tests {
    use super::redact;

    #[test]
    fn a_password_never_shows() {
        assert_eq!(redact("amqp://shop:secret@host:5672/v"), "amqp://shop:***@host:5672/v");
        assert_eq!(redact("amqp://shop:a,b@one,two:5673/v"), "amqp://shop:***@one,two:5673/v");
        assert_eq!(redact("postgres://a:b@c@host/db"), "postgres://a:***@host/db");
        assert_eq!(redact("amqp://shop:a/b#c@host/v"), "amqp://shop:***@host/v");
        assert_eq!(redact("postgres://host/db?user=shop&password=a@b"), "postgres://host/db?***");
        assert_eq!(redact("amqp://host/v?heartbeat=5"), "amqp://host/v?heartbeat=5");
        assert_eq!(redact("sqlite://data/orders.db"), "sqlite://data/orders.db");
        assert_eq!(redact("secret"), "(not a URL)");
    }
}
