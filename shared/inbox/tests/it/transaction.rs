//! `begin`: the inbox row and the effect, both or none, once.

use std::sync::Arc;

use futures_util::future::join_all;
use inbox::{InboxTransaction, Receipt, begin};
use sea_orm::{ConnectionTrait, DatabaseConnection};
use tokio::sync::Barrier;
use transport::MessageId;

use crate::bench::{CONSUMER, Inbox};

on_both_databases!(
    a_message_is_first_once_then_a_duplicate_and_with_another_body_an_error,
    a_first_receipt_dropped_without_commit_leaves_no_row_and_no_effect,
    another_consumer_of_the_same_database_receives_the_message_for_itself,
    of_many_who_receive_one_message_at_the_same_time_exactly_one_commits,
    a_second_receiver_waits_for_the_first_and_is_a_duplicate_after_its_commit,
    a_second_receiver_waits_for_the_first_and_is_first_itself_after_its_rollback,
);

const BODY: &[u8] = br#"{"n":1}"#;

async fn receive(db: &DatabaseConnection, id: MessageId, body: &[u8]) -> Receipt {
    begin(db, CONSUMER, id, body).await.expect("a receipt")
}

async fn first(db: &DatabaseConnection, id: MessageId) -> InboxTransaction {
    match receive(db, id, BODY).await {
        Receipt::First(tx) => tx,
        other => panic!("expected First, got {other:?}"),
    }
}

async fn write_effect(tx: &InboxTransaction) {
    tx.execute_unprepared("INSERT INTO effects (name) VALUES ('it')").await.expect("written");
}

async fn a_message_is_first_once_then_a_duplicate_and_with_another_body_an_error(inbox: Inbox) {
    let id = MessageId::generate();
    let tx = first(&inbox.db, id).await;
    write_effect(&tx).await;
    tx.commit().await.expect("committed");

    assert!(matches!(receive(&inbox.db, id, BODY).await, Receipt::Duplicate));
    // Also where only white space differs: the inbox compares bytes, not meaning.
    for other in [&b""[..], br#"{"n":2}"#, br#"{"n": 1}"#, b"\0", b"\xff"] {
        assert!(matches!(receive(&inbox.db, id, other).await, Receipt::OtherBody), "{other:?}");
    }
    assert!(matches!(receive(&inbox.db, id, BODY).await, Receipt::Duplicate));
    assert_eq!((inbox.known().await, inbox.effects().await.len()), (1, 1));
}

async fn a_first_receipt_dropped_without_commit_leaves_no_row_and_no_effect(inbox: Inbox) {
    let id = MessageId::generate();
    for _ in 0..3 {
        let tx = first(&inbox.db, id).await;
        write_effect(&tx).await;
        drop(tx);
        assert_eq!((inbox.known().await, inbox.effects().await.len()), (0, 0));
    }
    let tx = first(&inbox.db, id).await;
    write_effect(&tx).await;
    tx.commit().await.expect("committed");
    assert_eq!((inbox.known().await, inbox.effects().await.len()), (1, 1));
}

async fn another_consumer_of_the_same_database_receives_the_message_for_itself(inbox: Inbox) {
    let id = MessageId::generate();
    for consumer in ["one", "another"] {
        let receipt = begin(&inbox.db, consumer, id, BODY).await.expect("a receipt");
        let Receipt::First(tx) = receipt else {
            panic!("{consumer}: expected First, got {receipt:?}");
        };
        tx.commit().await.expect("committed");
        let again = begin(&inbox.db, consumer, id, BODY).await.expect("a receipt");
        assert!(matches!(again, Receipt::Duplicate), "{consumer}");
    }
    assert_eq!(inbox.known().await, 2);
}

async fn of_many_who_receive_one_message_at_the_same_time_exactly_one_commits(inbox: Inbox) {
    const RECEIVERS: usize = 8;
    let id = MessageId::generate();
    let barrier = Arc::new(Barrier::new(RECEIVERS));
    let receivers = (0..RECEIVERS).map(|_| {
        let (db, barrier) = (inbox.another_pool(), barrier.clone());
        tokio::spawn(async move {
            barrier.wait().await;
            match receive(&db, id, BODY).await {
                Receipt::First(tx) => {
                    write_effect(&tx).await;
                    tx.commit().await.expect("committed");
                    true
                }
                Receipt::Duplicate => false,
                Receipt::OtherBody => panic!("the body is the same"),
            }
        })
    });
    let receivers = join_all(receivers).await;
    let firsts = receivers.into_iter().filter(|first| *first.as_ref().expect("no panic")).count();

    assert_eq!(firsts, 1);
    assert_eq!((inbox.known().await, inbox.effects().await.len()), (1, 1));
}

/// While the first one's transaction is open, no answer for the second one could be right.
async fn a_second_receiver_waits_for_the_first_and_is_a_duplicate_after_its_commit(inbox: Inbox) {
    let id = MessageId::generate();
    let tx = first(&inbox.db, id).await;
    let other = inbox.another_pool();
    let second = tokio::spawn(async move { receive(&other, id, BODY).await });
    tokio::task::yield_now().await;
    assert!(!second.is_finished());
    tx.commit().await.expect("committed");
    assert!(matches!(second.await.expect("no panic"), Receipt::Duplicate));
}

async fn a_second_receiver_waits_for_the_first_and_is_first_itself_after_its_rollback(
    inbox: Inbox,
) {
    let id = MessageId::generate();
    let tx = first(&inbox.db, id).await;
    let other = inbox.another_pool();
    let second = tokio::spawn(async move {
        let tx = first(&other, id).await;
        write_effect(&tx).await;
        tx.commit().await.expect("committed");
    });
    tokio::task::yield_now().await;
    assert!(!second.is_finished());
    drop(tx);
    second.await.expect("it was first");
    assert_eq!((inbox.known().await, inbox.effects().await.len()), (1, 1));
}
