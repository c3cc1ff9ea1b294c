//! Any mix of appends, passes, answers, crashes and retries: only heads are published.

use std::collections::HashMap;

use outbox::{DeadLetterPolicy, Pass, RelayOptions};
use proptest::prelude::{Strategy, prop_oneof, proptest};
use proptest::test_runner::Config;
use proptest::{collection, sample};
use test_kit::Backing;
use transport::Outcome;

use crate::bench::{Outbox, message, quick};
use crate::broker::{aggregate, version};

const AGGREGATES: [&str; 3] = ["a", "b", "c"];

#[derive(Debug, Clone)]
enum Step {
    Append(&'static str),
    /// A pass of one of two relays, whose messages get these answers in turns.
    Pass(usize, Vec<Answer>),
    /// A relay dies in mid-publish; what it claimed stays claimed.
    Crash(usize),
    /// All claims that are left over end.
    LeasesEnd,
    /// All dead rows are retried, as by a person.
    RetryDead,
}

#[derive(Debug, Clone, Copy)]
enum Answer {
    Confirmed,
    Unroutable,
    Nacked,
    Unknown,
}

impl From<Answer> for Outcome {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Confirmed => Self::Confirmed,
            Answer::Unroutable => Self::Unroutable("no queue".to_owned()),
            Answer::Nacked => Self::Nacked,
            Answer::Unknown => Self::Unknown,
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let answers = [Answer::Confirmed, Answer::Unroutable, Answer::Nacked, Answer::Unknown];
    let answers = collection::vec(sample::select(answers.to_vec()), 1..4);
    prop_oneof![
        4 => sample::select(AGGREGATES.to_vec()).prop_map(Step::Append),
        4 => (0..2usize, answers).prop_map(|(relay, answers)| Step::Pass(relay, answers)),
        1 => (0..2usize).prop_map(Step::Crash),
        1 => proptest::strategy::Just(Step::LeasesEnd),
        1 => proptest::strategy::Just(Step::RetryDead),
    ]
}

proptest! {
    // Each case is a database of its own.
    #![proptest_config(Config { cases: 40, failure_persistence: None, ..Config::default() })]

    #[test]
    fn whatever_happens_a_message_is_published_only_after_all_earlier_ones_were_confirmed(
        steps in collection::vec(step(), 1..40)
    ) {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(check(steps));
    }
}

async fn check(steps: Vec<Step>) {
    let outbox = Outbox::new(Backing::Embedded).await;
    let options = |relay| RelayOptions {
        owner: format!("relay-{relay}"),
        batch_size: 2,
        max_retries: 2,
        dead_letters: DeadLetterPolicy::Wait,
        ..quick()
    };
    let mut relays = [outbox.relay(options(0)), outbox.relay(options(1))];
    let mut written = HashMap::<&str, i64>::new();
    for step in steps {
        let before = outbox.broker.published().len();
        let heads = heads(&outbox, &written).await;
        match step {
            Step::Append(aggregate) => {
                let version = written.entry(aggregate).or_default();
                *version += 1;
                outbox.append(message(aggregate, *version)).await;
            }
            Step::Pass(relay, answers) => {
                let mut turn = answers.into_iter().cycle();
                outbox.broker.answer(move |_| turn.next().map_or(Outcome::Unknown, Outcome::from));
                relays[relay].run_once().await.expect("a pass");
            }
            Step::Crash(relay) => crash(&outbox, options(relay)).await,
            Step::LeasesEnd => {
                let past = "UPDATE outbox_messages SET claimed_until = '2026-01-01T00:00:00+00:00'
                            WHERE claimed_until IS NOT NULL";
                outbox.execute(past).await;
            }
            Step::RetryDead => retry_dead(&outbox).await,
        }
        for message in &outbox.broker.published()[before..] {
            let aggregate = aggregate(message);
            assert_eq!(heads.get(aggregate.as_str()), Some(&version(message)), "{aggregate}");
        }
    }
    heal(&outbox, &mut relays).await;
    let total: i64 = written.values().sum();
    assert_eq!(outbox.counts().await.sent, total, "everything arrives in the end");
}

/// The first version of each aggregate that is not sent.
async fn heads(outbox: &Outbox, written: &HashMap<&'static str, i64>) -> HashMap<String, i64> {
    let mut heads = HashMap::new();
    for (aggregate, last) in written {
        for version in 1..=*last {
            if outbox.row(aggregate, version).await.status != "Sent" {
                heads.insert((*aggregate).to_owned(), version);
                break;
            }
        }
    }
    heads
}

async fn crash(outbox: &Outbox, options: RelayOptions) {
    let gate = outbox.broker.hold_next_publish();
    let mut relay = outbox.relay(options);
    let mut dying = tokio::spawn(async move { relay.run_once().await });
    tokio::select! {
        () = gate.reached() => {
            dying.abort();
            assert!(dying.await.is_err(), "it is dead");
        }
        pass = &mut dying => assert_eq!(pass.expect("no panic").expect("a pass"), Pass::Idle),
    }
    outbox.broker.hold_nothing();
}

async fn retry_dead(outbox: &Outbox) {
    let again = "UPDATE outbox_messages SET status = 'Pending', retry_count = 0, dead_at = NULL
                 WHERE status = 'Dead'";
    outbox.execute(again).await;
}

async fn heal(outbox: &Outbox, relays: &mut [outbox::Relay]) {
    retry_dead(outbox).await;
    outbox.execute("UPDATE outbox_messages SET claimed_until = NULL, claim_token = NULL").await;
    outbox.broker.answer(|_| Outcome::Confirmed);
    while relays[0].run_once().await.expect("a pass") != Pass::Idle {}
}
