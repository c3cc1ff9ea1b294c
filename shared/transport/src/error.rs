use std::error::Error;
use std::fmt;

/// Why a session could not be opened or was lost.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The URL can't be used.
    #[error("broker URL {url}: {reason}")]
    InvalidUrl {
        /// The URL without its password.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Nothing answered, or not as a broker does.
    #[error("broker {url} can't be reached")]
    Unreachable {
        /// The URL without its password.
        url: String,
        /// What the library reported.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The broker knows us and says no: credentials, virtual host, permissions.
    #[error("broker {url} refused access: {reason}")]
    AccessRefused {
        /// The URL without its password.
        url: String,
        /// The broker's own words.
        reason: String,
    },
    /// None of the broker's nodes can be used.
    #[error("no node of the broker can be used: {}", list(failures))]
    NoNode {
        /// Each node with its own reason, in the order in which they were tried.
        failures: Vec<NodeFailure>,
    },
    /// A queue or an exchange exists with other arguments than ours. Retrying won't help; a person must decide.
    #[error("broker has other arguments for this topology: {reason}; delete or rename the old one")]
    TopologyMismatch {
        /// The broker's own words.
        reason: String,
    },
    /// A publisher that declares nothing ([`Declare::Own`](crate::Declare)) came before those who do.
    #[error(
        "exchange {exchange} does not exist yet: the first consumer declares it, or a session that \
         declares all"
    )]
    ExchangeMissing {
        /// Its name.
        exchange: String,
    },
    /// No answer in time.
    #[error("broker gave no answer within {seconds} s while {doing}")]
    TimedOut {
        /// What we were waiting for.
        doing: &'static str,
        /// The limit that was exceeded.
        seconds: f32,
    },
    /// A session that worked has ended.
    #[error("broker session lost: {reason}")]
    SessionLost {
        /// What ended it.
        reason: String,
    },
    /// The database behind the SQL transport failed.
    #[error("queue database failed while {doing}")]
    Database {
        /// What we were doing.
        doing: &'static str,
        /// The database's error.
        #[source]
        source: sea_orm::DbErr,
    },
}

/// Why one node of a broker can't be used.
#[derive(Debug)]
pub struct NodeFailure {
    /// Its host and port.
    pub node: String,
    /// What happened there.
    pub error: TransportError,
}

impl fmt::Display for NodeFailure {
    /// Without the URL, which says the same of each node.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.node)?;
        match &self.error {
            TransportError::Unreachable { source, .. } => {
                write!(f, "can't be reached ({source})")
            }
            TransportError::AccessRefused { reason, .. } => write!(f, "refused access ({reason})"),
            TransportError::TimedOut { seconds, .. } => {
                write!(f, "gave no answer within {seconds:.1} s")
            }
            other => write!(f, "failed ({})", other.one_line()),
        }
    }
}

fn list(failures: &[NodeFailure]) -> String {
    failures.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl TransportError {
    /// The whole chain of causes in one line, for logs and health checks.
    #[must_use]
    pub fn one_line(&self) -> String {
        let mut line = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            let text = error.to_string();
            // Libraries like to repeat their cause in their own text.
            if !line.contains(&text) {
                line.push_str(": ");
                line.push_str(&text);
            }
            cause = error.source();
        }
        line.replace('\n', " ")
    }
}
