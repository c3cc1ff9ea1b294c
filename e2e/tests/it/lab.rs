//! The lab's experiments: the matrix as it is checked in is what real runs say, on SQLite and on the servers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use e2e::{ServerSites, shop_binary};
use lab::{Catalogue, EmbeddedSites, Experiment, Lab, Pace, Sites, Trace, Verdict, matrix};
use sea_orm::{ConnectionTrait, DbBackend, Statement};

/// Experiments at the same time: they wait most of the time.
const AT_ONCE: usize = 3;

fn lab() -> Lab {
    Lab { program: shop_binary(), pace: Pace::patient() }
}

/// Every cell is run, and every cell that differs is named.
async fn is_as_checked_in(
    sites: Arc<dyn Sites>,
    cells: impl Fn(&str, &str, Verdict) -> bool,
) -> BTreeMap<String, usize> {
    let expected = &Catalogue::get().expected;
    let expected_of = move |row: &str, failure: &str| expected[row][failure];
    let wanted = Catalogue::get().rows.iter().flat_map(|row| {
        Catalogue::get().failures.iter().map(|failure| (row.id.as_str(), failure.id.as_str()))
    });
    let wanted: Vec<_> =
        wanted.filter(|(row, failure)| cells(row, failure, expected_of(row, failure))).collect();
    assert!(wanted.len() > 50, "{wanted:?}");
    let mut found = matrix(lab(), sites, AT_ONCE, wanted.clone());
    let (mut differences, mut verdicts, mut runs) = (vec![], BTreeMap::new(), 0);
    while let Some(cell) = found.recv().await {
        let trace = cell.trace.unwrap_or_else(|error| {
            panic!("{} × {}: {error:#}", cell.row, cell.failure);
        });
        let expected = expected_of(&cell.row, &cell.failure);
        if trace.verdict != expected {
            let (is, steps) = (trace.verdict, story(&trace));
            differences.push(format!(
                "{} × {}: {is:?}, expected {expected:?}\n{steps}",
                cell.row, cell.failure
            ));
        }
        *verdicts.entry(trace.verdict.words().to_owned()).or_default() += 1;
        runs += 1;
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!(runs, wanted.len());
    verdicts
}

fn story(trace: &Trace) -> String {
    let step = |step: &lab::trace::Step| {
        let point = step.point.as_deref().or(step.what.as_deref()).unwrap_or_default();
        format!("  {:>6} {} {} {point}", step.at, step.actor, step.kind)
    };
    trace.steps.iter().map(step).collect::<Vec<_>>().join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_matrix_is_as_checked_in_on_sqlite() {
    let verdicts = is_as_checked_in(Arc::new(EmbeddedSites::default()), |_, _, _| true).await;
    println!("{verdicts:?}");
}

/// The row without mistakes, and every harm: what the page shows on SQLite happens there too.
#[tokio::test(flavor = "multi_thread")]
async fn every_harm_and_every_protection_of_the_matrix_is_the_same_on_postgresql_with_rabbitmq() {
    let verdicts = is_as_checked_in(Arc::new(ServerSites::default()), |row, _, expected| {
        row == "all" || !matches!(expected, Verdict::ExactlyOneEffect | Verdict::Void)
    })
    .await;
    println!("{verdicts:?}");
}

/// The page opens the source file of each step.
#[tokio::test(flavor = "multi_thread")]
async fn a_step_of_a_program_names_the_line_of_code_that_did_it() {
    let experiment = Experiment::new("", "crash-before-mark").expect("an experiment");
    let site = EmbeddedSites::default().fresh().await.expect("a site");
    let trace = lab().run(&*site, &experiment).await.expect("a run");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut named = 0;
    for step in &trace.steps {
        let (Some(source), Some(point)) = (&step.source, &step.point) else {
            continue;
        };
        let text = std::fs::read_to_string(root.join(&source.file)).expect("the file is there");
        let line = text.lines().nth(source.line as usize - 1).unwrap_or_default();
        assert!(line.contains(&format!("\"{point}\"")), "{source:?}: {line}");
        named += 1;
    }
    assert!(named > 10, "{}", story(&trace));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_killed_before_its_mark_publishes_twice_and_only_the_inbox_makes_one_effect_of_it()
{
    for (mistakes, verdict, reserved) in
        [("", Verdict::ExactlyOneEffect, 1), ("no-inbox", Verdict::Duplicated, 2)]
    {
        let experiment = Experiment::new(mistakes, "crash-before-mark").expect("an experiment");
        let site = EmbeddedSites::default().fresh().await.expect("a site");
        let trace = lab().run(&*site, &experiment).await.expect("a run");
        assert_eq!(trace.verdict, verdict, "{}", story(&trace));
        assert_eq!(trace.equation.reservations, reserved);
        let passes = |point: &str| {
            let passes = trace.steps.iter().filter(|step| {
                step.actor == "orders-relay"
                    && step.kind == "passed"
                    && step.point.as_deref() == Some(point)
            });
            passes.count()
        };
        assert_eq!(passes("C8"), 2, "{}", story(&trace));
    }
}

/// A message that was acknowledged too soon is in no queue and, until the commit, in no table. Here the
/// commit has to wait for somebody else's lock, far longer than a silence that ends a run.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_does_not_end_while_a_message_is_in_nobodys_table_yet() {
    let experiment = Experiment::new("ack-before-commit", "none").expect("an experiment");
    let site = EmbeddedSites::default().fresh().await.expect("a site");
    let orders = test_kit::connect(site.orders_url()).expect("a pool");
    let inventory = test_kit::connect(site.inventory_url()).expect("a pool");
    let lock = async {
        let placed = async || {
            let found = orders
                .query_all_raw(Statement::from_string(DbBackend::Sqlite, "SELECT id FROM orders"));
            !found.await.expect("rows").is_empty()
        };
        test_kit::eventually("an order", placed).await;
        let tx = database::begin_write(&inventory).await.expect("the lock");
        tokio::time::sleep(Pace::quick().quiet * 5).await;
        tx.rollback().await.expect("the lock is given back");
    };
    let lab = Lab { program: shop_binary(), pace: Pace::quick() };
    let (trace, ()) = tokio::join!(lab.run(&*site, &experiment), lock);
    let trace = trace.expect("a run");
    assert_eq!(trace.verdict, Verdict::ExactlyOneEffect, "{}", story(&trace));
}

#[test]
fn what_can_not_be_tried_is_refused_with_what_can() {
    let refused =
        |mistakes, failure| Experiment::new(mistakes, failure).expect_err("a refusal").to_string();
    assert!(refused("nonsense", "none").contains("no-inbox"));
    assert!(refused("", "nonsense").contains("crash-before-mark"));
    let both = "publish-after-commit,publish-before-commit";
    assert!(refused(both, "none").contains("exclude"));
}
