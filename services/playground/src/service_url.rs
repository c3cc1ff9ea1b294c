use std::fmt;
use std::str::FromStr;

/// Where a service is: `http://host:port`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServiceUrl {
    /// Host and port.
    place: String,
}

impl ServiceUrl {
    /// On this machine.
    pub(crate) fn local(port: u16) -> Self {
        Self { place: format!("127.0.0.1:{port}") }
    }

    /// Host and port, to connect to.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }
}

impl fmt::Display for ServiceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.place)
    }
}

/// The text is no [`ServiceUrl`].
#[derive(Debug, thiserror::Error)]
#[error("expected http://host:port, and no path")]
pub(crate) struct InvalidServiceUrl;

impl FromStr for ServiceUrl {
    type Err = InvalidServiceUrl;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url = reqwest::Url::parse(text).map_err(|_| InvalidServiceUrl)?;
        let host = url.host_str().ok_or(InvalidServiceUrl)?;
        let port = url.port_or_known_default().ok_or(InvalidServiceUrl)?;
        let nothing_more = url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none();
        match url.scheme() == "http" && nothing_more {
            true => Ok(Self { place: format!("{host}:{port}") }),
            false => Err(InvalidServiceUrl),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_a_service_is_a_host_and_a_port_and_nothing_more() {
        for (text, place) in [
            ("http://order-service:8080", "order-service:8080"),
            ("http://order-service:8080/", "order-service:8080"),
            ("http://order-service", "order-service:80"),
            ("http://[::1]:8080", "[::1]:8080"),
        ] {
            assert_eq!(text.parse::<ServiceUrl>().expect(text).place(), place);
        }
        for text in [
            "",
            "order-service:8080",
            "https://order-service:8080",
            "http://:8080",
            "http://order-service:8080/orders",
            "http://order-service:8080/?a",
            "http://u:p@order-service:8080",
            "http://order-service:99999",
        ] {
            text.parse::<ServiceUrl>().expect_err(text);
        }
    }
}
