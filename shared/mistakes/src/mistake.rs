use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A protection that is left out. The documentation of each says what people write instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mistake {
    /// Save the order, commit, then publish: a *dual write*.
    PublishAfterCommit,
    /// Publish first, then commit.
    PublishBeforeCommit,
    /// Mark the row as sent as soon as the message is on its way.
    MarkBeforeConfirm,
    /// Publish without `mandatory`: nobody says that no queue wanted the message.
    PublishWithoutMandatory,
    /// `SELECT … WHERE status = 'Pending'`, in each of several relays.
    ClaimWithoutLock,
    /// Handle what comes, however often it comes.
    NoInbox,
    /// Write the inbox row, commit; then do the work in a second transaction.
    InboxInAnotherTransaction,
    /// Acknowledge on receipt ("auto-ack").
    AckBeforeCommit,
    /// Try a message that fails until it does not.
    RetryForEver,
    /// Take each request for a new order.
    NoIdempotencyKey,
    /// Clean the inbox before the sender has stopped sending again.
    InboxForgetsTooSoon,
    /// Handle a cancel as it comes, and forget it when there is nothing to cancel.
    NoVersionOrder,
    /// Tell the outside world without a key by which it would know the second call.
    TextMessageWithoutKey,
}

impl Mistake {
    /// All of them, in the order of a message's way.
    pub const ALL: [Self; 13] = [
        Self::NoIdempotencyKey,
        Self::PublishAfterCommit,
        Self::PublishBeforeCommit,
        Self::ClaimWithoutLock,
        Self::PublishWithoutMandatory,
        Self::MarkBeforeConfirm,
        Self::NoInbox,
        Self::InboxInAnotherTransaction,
        Self::InboxForgetsTooSoon,
        Self::NoVersionOrder,
        Self::AckBeforeCommit,
        Self::RetryForEver,
        Self::TextMessageWithoutKey,
    ];

    /// Its name in links, files and settings.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::PublishAfterCommit => "publish-after-commit",
            Self::PublishBeforeCommit => "publish-before-commit",
            Self::MarkBeforeConfirm => "mark-before-confirm",
            Self::PublishWithoutMandatory => "publish-without-mandatory",
            Self::ClaimWithoutLock => "claim-without-lock",
            Self::NoInbox => "no-inbox",
            Self::InboxInAnotherTransaction => "inbox-in-another-transaction",
            Self::AckBeforeCommit => "ack-before-commit",
            Self::RetryForEver => "retry-for-ever",
            Self::NoIdempotencyKey => "no-idempotency-key",
            Self::InboxForgetsTooSoon => "inbox-forgets-too-soon",
            Self::NoVersionOrder => "no-version-order",
            Self::TextMessageWithoutKey => "text-message-without-key",
        }
    }

    /// The protection that it leaves out.
    #[must_use]
    pub fn protection(self) -> &'static str {
        match self {
            Self::PublishAfterCommit | Self::PublishBeforeCommit => "outbox",
            Self::MarkBeforeConfirm => "confirm",
            Self::PublishWithoutMandatory => "mandatory",
            Self::ClaimWithoutLock => "claim",
            Self::NoInbox => "inbox",
            Self::InboxInAnotherTransaction => "inbox-transaction",
            Self::AckBeforeCommit => "ack",
            Self::RetryForEver => "retry-limit",
            Self::NoIdempotencyKey => "idempotency-key",
            Self::InboxForgetsTooSoon => "inbox-retention",
            Self::NoVersionOrder => "version-order",
            Self::TextMessageWithoutKey => "outside-key",
        }
    }

    /// The file that makes it.
    #[must_use]
    pub fn source(self) -> &'static str {
        match self {
            Self::PublishAfterCommit => "services/order-service/src/lab/publish_after_commit.rs",
            Self::PublishBeforeCommit => "services/order-service/src/lab/publish_before_commit.rs",
            Self::NoIdempotencyKey => "services/order-service/src/lab/no_idempotency_key.rs",
            Self::MarkBeforeConfirm => "shared/mistakes/src/mark_before_confirm.rs",
            Self::PublishWithoutMandatory => "shared/mistakes/src/publish_without_mandatory.rs",
            Self::ClaimWithoutLock => "shared/mistakes/src/claim_without_lock.rs",
            Self::NoInbox => "shared/mistakes/src/no_inbox.rs",
            Self::InboxInAnotherTransaction => {
                "shared/mistakes/src/inbox_in_another_transaction.rs"
            }
            Self::AckBeforeCommit => "shared/mistakes/src/ack_before_commit.rs",
            Self::RetryForEver => "shared/mistakes/src/retry_for_ever.rs",
            Self::InboxForgetsTooSoon => {
                "services/inventory-service/src/lab/inbox_forgets_too_soon.rs"
            }
            Self::NoVersionOrder => "services/inventory-service/src/lab/no_version_order.rs",
            Self::TextMessageWithoutKey => {
                "services/inventory-service/src/lab/text_message_without_key.rs"
            }
        }
    }

    /// What can't be made together with it: there is one way only to publish.
    #[must_use]
    pub fn excludes(self) -> Option<Self> {
        match self {
            Self::PublishAfterCommit => Some(Self::PublishBeforeCommit),
            Self::PublishBeforeCommit => Some(Self::PublishAfterCommit),
            _ => None,
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// A name that is none of [`Mistake::ALL`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no mistake {0:?}; there are {known}", known = known())]
pub struct UnknownMistake(String);

fn known() -> String {
    Mistake::ALL.map(Mistake::id).join(", ")
}

impl FromStr for Mistake {
    type Err = UnknownMistake;

    fn from_str(text: &str) -> Result<Self, UnknownMistake> {
        let found = Self::ALL.into_iter().find(|mistake| mistake.id() == text);
        found.ok_or_else(|| UnknownMistake(text.to_owned()))
    }
}

/// The mistakes that a process makes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Mistakes(BTreeSet<Mistake>);

impl Mistakes {
    /// Those of the environment variable `MISTAKES`: names with commas between them.
    ///
    /// # Errors
    /// One of the names is unknown.
    pub fn from_environment() -> Result<Self, UnknownMistake> {
        std::env::var("MISTAKES").unwrap_or_default().parse()
    }

    /// Whether this one is made.
    #[must_use]
    pub fn has(&self, mistake: Mistake) -> bool {
        self.0.contains(&mistake)
    }

    /// Whether one of these is made.
    #[must_use]
    pub fn has_any(&self, mistakes: &[Mistake]) -> bool {
        mistakes.iter().any(|mistake| self.has(*mistake))
    }

    /// Each of them once, in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = Mistake> {
        self.0.iter().copied()
    }

    /// Two that exclude each other, if there are any.
    #[must_use]
    pub fn contradiction(&self) -> Option<(Mistake, Mistake)> {
        self.iter().find_map(|one| Some((one, one.excludes().filter(|other| self.has(*other))?)))
    }
}

impl FromIterator<Mistake> for Mistakes {
    fn from_iter<I: IntoIterator<Item = Mistake>>(mistakes: I) -> Self {
        Self(mistakes.into_iter().collect())
    }
}

impl FromStr for Mistakes {
    type Err = UnknownMistake;

    fn from_str(text: &str) -> Result<Self, UnknownMistake> {
        text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::parse).collect()
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(Mistake::id).collect();
        f.write_str(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_has_one_name_everywhere() {
        for mistake in Mistake::ALL {
            assert_eq!(mistake.id().parse(), Ok(mistake));
            let json = serde_json::to_value(mistake).expect("JSON");
            assert_eq!(json, mistake.id());
        }
        assert!("no-inbox, nonsense".parse::<Mistakes>().is_err());
    }

    #[test]
    fn the_file_of_each_mistake_is_there() {
        for mistake in Mistake::ALL {
            let path = format!("{}/../../{}", env!("CARGO_MANIFEST_DIR"), mistake.source());
            assert!(std::path::Path::new(&path).exists(), "{path}");
        }
    }
}
