//! What a service may ask its outbox: has this reached the broker?

use std::collections::HashSet;

use database::Dialect;
use outbox::{Counts, RelayOptions, unsent_condition, unsent_ids};
use sea_orm::ConnectionTrait;
use transport::Outcome;

use crate::bench::{Outbox, message, quick};
use crate::broker::aggregate;

on_both_databases!(what_the_broker_has_not_confirmed_is_unsent);

async fn what_the_broker_has_not_confirmed_is_unsent(outbox: Outbox) {
    for id in ["sent", "dead", "other-type"] {
        outbox.append(message(id, 1)).await;
    }
    outbox.broker.answer(|message| match aggregate(message).as_str() {
        "dead" => Outcome::Nacked,
        _ => Outcome::Confirmed,
    });
    let mut relay = outbox.relay(RelayOptions { max_retries: 1, ..quick() });
    relay.run_once().await.expect("a pass");
    outbox.append(message("pending", 1)).await;
    outbox.append(message("sent", 2)).await;

    let asked = ["sent", "dead", "pending", "unheard-of"].map(str::to_owned);
    let unsent = unsent_ids(&outbox.db, "order", 1, &asked).await.expect("an answer");
    assert_eq!(unsent, HashSet::from(["dead", "pending"].map(str::to_owned)));
    assert!(unsent_ids(&outbox.db, "order", 1, &[]).await.expect("an answer").is_empty());
    assert!(unsent_ids(&outbox.db, "invoice", 1, &asked).await.expect("an answer").is_empty());

    for id in asked {
        let condition = unsent_condition("order", 1, "$1");
        let sql = format!("SELECT 1 AS found WHERE {condition}");
        let statement = Dialect::of(&outbox.db).statement(sql, [id.as_str().into()]);
        let found = outbox.db.query_one_raw(statement).await.expect("an answer").is_some();
        assert_eq!(found, unsent.contains(&id), "{id}");
    }
    assert_eq!(outbox.counts().await, Counts { pending: 2, sent: 2, dead: 1 });
}
