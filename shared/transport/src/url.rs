/// The URL with its password replaced, fit for logs and error messages.
#[must_use]
pub fn redact(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return "(not a URL)".to_owned();
    };
    // The password may itself contain an unescaped '@': the last one before the path ends it.
    let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(authority_end);
    match authority.rsplit_once('@') {
        Some((user_info, host)) => {
            let user = user_info.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}:***@{host}{path}")
        }
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::redact;

    #[test]
    fn a_password_never_shows() {
        assert_eq!(redact("amqp://shop:secret@host:5672/v"), "amqp://shop:***@host:5672/v");
        assert_eq!(redact("postgres://a:b@c@host/db"), "postgres://a:***@host/db");
        assert_eq!(redact("sqlite://data/orders.db"), "sqlite://data/orders.db");
        assert_eq!(redact("secret"), "(not a URL)");
    }
}
