//! Which message got which answer.
//!
//! The broker returns an unroutable message (`basic.return`) before it confirms it. lapin keeps
//! returned messages in a queue and hands the oldest to whichever confirm resolves next, so a
//! returned message often arrives on the confirm of another one. Taking a confirm at its word
//! would mark a dropped message as sent.

use std::collections::HashMap;

use crate::Outcome;

/// What tells the messages of a batch apart: id and routing key. Messages that share both are
/// routed alike.
pub(super) type Key<'a> = (Option<&'a str>, &'a str);

/// What the confirm of one message said.
#[derive(Debug)]
pub(super) enum Answer {
    /// The broker is done with it, by keeping it or by returning it.
    Ack(Option<Returned>),
    /// The broker refused it for now.
    Nack(Option<Returned>),
    /// The session ended or the time was up before the confirm. What a late one carried still counts.
    Missing(Option<Returned>),
}

/// A returned message: not necessarily the one whose confirm carried it.
#[derive(Debug)]
pub(super) struct Returned {
    pub(super) message_id: Option<String>,
    pub(super) routing_key: String,
    /// The broker's words.
    pub(super) reason: String,
}

impl Answer {
    fn returned(&self) -> Option<&Returned> {
        match self {
            Self::Ack(returned) | Self::Nack(returned) | Self::Missing(returned) => {
                returned.as_ref()
            }
        }
    }
}

/// Gives each message of a batch its outcome. `answers` belong to `sent` one by one, and the
/// batch had its channel for itself.
pub(super) fn outcomes(sent: &[Key<'_>], answers: &[Answer]) -> Vec<Outcome> {
    let complete = !answers.iter().any(|answer| matches!(answer, Answer::Missing(_)));
    let verdicts = verdicts(sent, answers);
    let outcome = |(key, answer): (&Key<'_>, &Answer)| match verdicts.get(key) {
        Some(verdict) => verdict.clone(),
        None => unreturned(answer, complete),
    };
    sent.iter().zip(answers).map(outcome).collect()
}

/// The outcome of each key of which at least one message was returned.
fn verdicts<'a>(sent: &[Key<'a>], answers: &'a [Answer]) -> HashMap<Key<'a>, Outcome> {
    let mut returned: HashMap<Key<'_>, (usize, &str)> = HashMap::new();
    for message in answers.iter().filter_map(Answer::returned) {
        let key = (message.message_id.as_deref(), message.routing_key.as_str());
        returned.entry(key).or_insert((0, &message.reason)).0 += 1;
    }
    if returned.is_empty() {
        return HashMap::new();
    }
    let mut copies: HashMap<Key<'_>, usize> = HashMap::new();
    for key in sent {
        *copies.entry(*key).or_default() += 1;
    }
    let verdict = |(key, (count, reason)): (Key<'a>, (usize, &str))| {
        // Some of the copies were returned, perhaps since a binding came or went meanwhile, and
        // nothing says which ones.
        let doubtful = count < copies.get(&key).copied().unwrap_or_default();
        let outcome =
            if doubtful { Outcome::Unknown } else { Outcome::Unroutable(reason.to_owned()) };
        (key, outcome)
    };
    returned.into_iter().map(verdict).collect()
}

/// The outcome of a message of which no return was seen.
fn unreturned(answer: &Answer, complete: bool) -> Outcome {
    match answer {
        Answer::Missing(_) => Outcome::Unknown,
        Answer::Nack(_) => Outcome::Nacked,
        // An empty confirm proves that no return was waiting when it came, its own included.
        Answer::Ack(None) => Outcome::Confirmed,
        // All confirms came, so all returns were seen: this one carried another's.
        Answer::Ack(Some(_)) if complete => Outcome::Confirmed,
        // Its own return may still have been in the queue when the session ended.
        Answer::Ack(Some(_)) => Outcome::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: [Key<'_>; 3] = [(Some("1"), "a"), (Some("2"), "a"), (Some("3"), "a")];

    fn returned(key: Key<'_>) -> Option<Returned> {
        Some(Returned {
            message_id: key.0.map(str::to_owned),
            routing_key: key.1.to_owned(),
            reason: "NO_ROUTE".to_owned(),
        })
    }

    fn unroutable() -> Outcome {
        Outcome::Unroutable("NO_ROUTE".to_owned())
    }

    #[test]
    fn a_return_counts_for_its_message_and_not_for_the_confirm_that_carried_it() {
        let answers = [Answer::Ack(returned(SENT[2])), Answer::Nack(None), Answer::Ack(None)];
        assert_eq!(outcomes(&SENT, &answers), [Outcome::Confirmed, Outcome::Nacked, unroutable()]);
    }

    #[test]
    fn a_message_that_was_returned_and_nacked_is_unroutable() {
        let answers = [Answer::Nack(returned(SENT[0])), Answer::Ack(None), Answer::Ack(None)];
        assert_eq!(
            outcomes(&SENT, &answers),
            [unroutable(), Outcome::Confirmed, Outcome::Confirmed]
        );
    }

    #[test]
    fn in_a_broken_batch_only_an_empty_confirm_proves_that_the_message_was_kept() {
        let answers = [Answer::Ack(None), Answer::Ack(returned(SENT[0])), Answer::Missing(None)];
        assert_eq!(outcomes(&SENT, &answers), [unroutable(), Outcome::Unknown, Outcome::Unknown]);
        let answers = [Answer::Ack(None), Answer::Missing(None), Answer::Missing(None)];
        assert_eq!(
            outcomes(&SENT, &answers),
            [Outcome::Confirmed, Outcome::Unknown, Outcome::Unknown]
        );
    }

    #[test]
    fn messages_without_an_id_are_told_apart_by_their_routing_key() {
        let sent = [(None, "a"), (None, "b"), (None, "a")];
        let answers =
            [Answer::Ack(returned(sent[0])), Answer::Ack(returned(sent[2])), Answer::Ack(None)];
        assert_eq!(outcomes(&sent, &answers), [unroutable(), Outcome::Confirmed, unroutable()]);
    }

    #[test]
    fn a_return_that_could_be_of_either_of_two_messages_confirms_neither() {
        let sent = [(None, "a"), (None, "b"), (None, "a")];
        let answers = [Answer::Ack(returned(sent[0])), Answer::Ack(None), Answer::Ack(None)];
        assert_eq!(
            outcomes(&sent, &answers),
            [Outcome::Unknown, Outcome::Confirmed, Outcome::Unknown]
        );
    }
}
