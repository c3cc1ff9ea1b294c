use std::str::FromStr;

/// Which part of the [`Topology`](crate::Topology) a session declares. The queue in SQL has no users
/// and no rights: there a session declares all of it in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Declare {
    /// All of it, so that the order in which programs start does not matter.
    #[default]
    All,
    /// What the session itself needs: for a broker where each user has the least rights. A consuming
    /// session declares the exchanges and its own queue, with the queues behind it; a publishing one
    /// only looks whether its exchange is there.
    Own,
}

impl FromStr for Declare {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "all" => Ok(Self::All),
            "own" => Ok(Self::Own),
            _ => Err("expected all or own".to_owned()),
        }
    }
}
