//! Operating: what people do about dead and parked messages, over HTTP and by the relay's commands.

use std::process::Output;

use contracts::OrderId;
use e2e::{Api, Part, Shop, message, on_both, order_of};
use reqwest::{Method, StatusCode};
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};
use test_kit::{eventually, eventually_some};

on_both!(
    a_dead_message_is_retried_after_its_repair_and_its_order_comes_to_its_end,
    a_discarded_message_lets_the_cancel_of_its_order_through,
    the_relays_commands_do_on_the_database_alone_what_the_calls_do,
    a_command_whose_reader_went_away_has_done_its_work_and_does_not_complain,
    a_parked_reply_has_its_effect_once_when_many_retry_it_as_soon_as_its_order_exists,
    what_still_fails_stays_parked_and_may_be_discarded,
    every_administrative_call_wants_the_token,
    what_a_caller_gets_wrong_is_named_and_changes_nothing,
);

/// An administrative call with the shop's token.
async fn call(api: &Api, method: Method, path: &str, body: Option<Value>) -> (StatusCode, Value) {
    let mut request = api
        .request(method, &format!("/admin{path}"))
        .bearer_auth("secret")
        .header("x-actor", "ann");
    if let Some(body) = body {
        request = request.json(&body);
    }
    let answer = request.send().await.expect("an answer");
    let status = answer.status();
    (status, answer.json().await.expect("JSON"))
}

async fn get(api: &Api, path: &str) -> Value {
    let (status, body) = call(api, Method::GET, path, None).await;
    assert_eq!(status, StatusCode::OK, "{path}: {body}");
    body
}

async fn post(api: &Api, path: &str, body: Value) -> (StatusCode, Value) {
    call(api, Method::POST, path, Some(body)).await
}

/// Valid JSON, as the column demands, but no headers: no relay can make a message of it.
const BREAK: &str = "UPDATE outbox_messages SET headers = '[]'";
const REPAIR: &str = "UPDATE outbox_messages SET headers = '{}'";

/// An order whose message is dead. Returns both ids.
async fn dead(shop: &mut Shop) -> (String, String) {
    shop.kill(Part::OrdersRelay);
    let order = shop.place(&order_of(&[("MOUSE", 1)])).await;
    shop.orders_db.execute_unprepared(BREAK).await.expect("broken");
    shop.start(Part::OrdersRelay, &[("RELAY_BACKOFF", "none")]);
    let relay = shop.api(Part::OrdersRelay);
    let list = eventually_some("it is dead", || async {
        let list = get(&relay, "/outbox?state=dead").await;
        (list["items"][0].is_object()).then_some(list)
    })
    .await;
    assert_eq!(
        (list["items"].as_array().map(Vec::len), &list["nextCursor"]),
        (Some(1), &Value::Null)
    );
    (order, list["items"][0]["messageId"].as_str().expect("an id").to_owned())
}

async fn a_dead_message_is_retried_after_its_repair_and_its_order_comes_to_its_end(mut shop: Shop) {
    let (order, id) = dead(&mut shop).await;
    let relay = shop.api(Part::OrdersRelay);
    let details = get(&relay, &format!("/outbox/{id}")).await;
    assert_eq!((&details["state"], &details["type"]), (&json!("dead"), &json!("OrderPlaced")));
    assert_eq!(
        (&details["aggregateId"], &details["payload"]["orderId"]),
        (&json!(order), &json!(order))
    );
    assert!(details["lastError"].as_str().expect("why").starts_with("can't be made a message"));
    assert_eq!(get(&relay, "/stats").await["dead"], 1);

    shop.orders_db.execute_unprepared(REPAIR).await.expect("repaired");
    let many = |dry_run: bool| json!({"state": "dead", "type": "OrderPlaced", "dryRun": dry_run});
    let (_, dry) = post(&relay, "/outbox/retry", many(true)).await;
    assert_eq!(dry, json!({"dryRun": true, "count": 1, "tooOld": 0}));
    let (status, retried) = call(&relay, Method::POST, &format!("/outbox/{id}/retry"), None).await;
    assert_eq!((status, &retried["state"]), (StatusCode::OK, &json!("pending")));
    shop.order_becomes(&order, "Confirmed").await;

    let (_, none) = post(&relay, "/outbox/retry", many(false)).await;
    assert_eq!(none["count"], 0);
    let details = get(&relay, &format!("/outbox/{id}")).await;
    let action = &details["actions"][0];
    assert_eq!((&action["actor"], &action["action"]), (&json!("ann"), &json!("retry")));
    assert!(action["lastError"].as_str().expect("why").starts_with("can't be made a message"));
    let (status, problem) = post(&relay, &format!("/outbox/{id}/retry"), json!({})).await;
    let detail = eventually_sent(&problem);
    assert_eq!((status, detail), (StatusCode::CONFLICT, true), "{problem}");
    shop.is_consistent().await;
}

/// The mark may come after the confirmation of the order.
fn eventually_sent(problem: &Value) -> bool {
    let detail = problem["detail"].as_str().unwrap_or_default();
    detail.contains(" is sent: ") || detail.contains(" is pending: ")
}

async fn a_discarded_message_lets_the_cancel_of_its_order_through(mut shop: Shop) {
    let (order, id) = dead(&mut shop).await;
    // The consumer waits so long for the version that never comes.
    shop.start(Part::Inventory, &[("CONSUMER_GAP_WAIT", "1s")]);
    let cancelled = shop.orders().post(&format!("/orders/{order}/cancel"), &json!({})).await;
    assert_eq!(cancelled.0, StatusCode::ACCEPTED);
    let relay = shop.api(Part::OrdersRelay);
    let stats = get(&relay, "/stats").await;
    assert_eq!((&stats["blockedMessages"], &stats["blockedAggregates"]), (&json!(1), &json!(1)));

    let reason = json!({"reason": "made by mistake"});
    let (status, body) = post(&relay, &format!("/outbox/{id}/discard"), reason.clone()).await;
    assert_eq!((status, &body["state"]), (StatusCode::OK, &json!("discarded")));
    shop.order_becomes(&order, "Cancelled").await;
    assert_eq!(shop.reserved("MOUSE").await, 0);

    let list = get(&relay, "/outbox?state=discarded").await;
    assert_eq!(list["items"][0]["messageId"], json!(id), "it stays visible");
    let (status, _) = post(&relay, &format!("/outbox/{id}/discard"), reason).await;
    assert_eq!(status, StatusCode::CONFLICT);
    let (status, _) = post(&relay, &format!("/outbox/{id}/retry"), json!({"force": true})).await;
    assert_eq!(status, StatusCode::CONFLICT);
}

fn answer(output: Output) -> Value {
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), error.as_str()), (Some(0), ""));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn text(output: Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The one line of a command that can't do it.
fn refusal(output: &Output) -> String {
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{output:?}");
    let error = String::from_utf8(output.stderr.clone()).expect("UTF-8");
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

async fn the_relays_commands_do_on_the_database_alone_what_the_calls_do(mut shop: Shop) {
    let (order, id) = dead(&mut shop).await;
    let run = |arguments: &[&str]| shop.relay_command(Part::OrdersRelay, arguments);
    let relay = shop.api(Part::OrdersRelay);
    assert_eq!(answer(run(&["dead", "list", "--json"])), get(&relay, "/outbox?state=dead").await);
    assert_eq!(answer(run(&["stats", "--json"]))["dead"], 1);
    let details = answer(run(&["dead", "show", &id, "--json"]));
    assert_eq!(details, get(&relay, &format!("/outbox/{id}")).await);
    for (arguments, expected) in [
        (&["dead", "list"][..], id.as_str()),
        (&["dead", "show", &id], "can't be made a message"),
        (&["stats"], "blocked aggregates"),
        (&["dead", "retry", "--all", "--dry-run"], "1 would be retried"),
        (&["dead", "list", "--state", "sent"], "none"),
        (&["--help"], "--relay-batch-size"),
        (&["--help"], "dead "),
    ] {
        let text = text(run(arguments));
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }

    let unknown = OrderId::generate().to_string();
    assert!(refusal(&run(&["dead", "show", &unknown])).contains("there is no message"));
    shop.orders_db.execute_unprepared(REPAIR).await.expect("repaired");
    let too_old = run(&["dead", "retry", &id, "--inbox-retention", "0s"]);
    assert!(refusal(&too_old).contains("an inbox remembers that for 0 s only"), "{too_old:?}");
    let skipped = answer(run(&["dead", "retry", "--all", "--inbox-retention", "0s", "--json"]));
    assert_eq!(skipped, json!({"dryRun": false, "count": 0, "tooOld": 1}));
    let forced = ["--inbox-retention", "0s", "--force", "--actor", "bob", "--reason", "repaired"];
    let retried = answer(run(&[&["dead", "retry", &id, "--json"][..], &forced].concat()));
    assert_eq!(retried, json!({"messageId": id, "state": "pending"}));
    shop.order_becomes(&order, "Confirmed").await;
    let details = answer(run(&["dead", "show", &id, "--json"]));
    let action = &details["actions"][0];
    assert_eq!((&action["actor"], &action["reason"]), (&json!("bob"), &json!("repaired")));
    let discard = run(&["dead", "discard", &id, "--reason", "why not"]);
    assert!(refusal(&discard).contains("only a dead one can be"), "{discard:?}");

    let without_reason = run(&["dead", "discard", &id]);
    let error = String::from_utf8_lossy(&without_reason.stderr).into_owned();
    assert_eq!((without_reason.status.code(), error.lines().count()), (Some(2), 1), "{error}");
    shop.is_consistent().await;
}

/// As with `| head`, and the reader is gone before the first line.
async fn a_command_whose_reader_went_away_has_done_its_work_and_does_not_complain(shop: Shop) {
    for arguments in [&["stats"][..], &["dead", "list", "--json"], &["cleanup"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = shop.relay_command_into(Part::OrdersRelay, arguments, writer);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), error.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

/// Lets a reply about an order that nobody knows be parked, and returns its parking.
async fn parked(shop: &Shop, order_id: &str) -> String {
    let lines = json!([{"sku": "MOUSE", "quantity": 1}]);
    let reply = json!({"orderId": order_id, "lines": lines});
    shop.publish(&[message("StockReserved", "stock.reserved", &reply)]).await;
    let orders = shop.orders();
    eventually_some("it is parked", || async {
        let list = get(&orders, "/parked?state=parked&reason=handler_failed").await;
        list["items"][0]["parkedId"].as_str().map(str::to_owned)
    })
    .await
}

async fn a_parked_reply_has_its_effect_once_when_many_retry_it_as_soon_as_its_order_exists(
    shop: Shop,
) {
    let order = OrderId::generate().to_string();
    let id = parked(&shop, &order).await;
    let orders = shop.orders();
    let details = get(&orders, &format!("/parked/{id}")).await;
    assert!(details["body"].as_str().expect("text").contains(&order));

    let retry = format!("/parked/{id}/retry");
    let (status, problem) = call(&orders, Method::POST, &retry, None).await;
    assert_eq!(status, StatusCode::CONFLICT);
    let detail = problem["detail"].as_str().expect("why");
    assert!(detail.contains(&format!("order {order} is not known here")), "{detail}");

    let sql = format!(
        "INSERT INTO orders (id, customer_id, status, version, event_version, created_at, updated_at)
         VALUES ('{order}', 'c-1', 'Placed', 1, 1,
           '2026-11-30T12:00:00.000+00:00', '2026-11-30T12:00:00.000+00:00')"
    );
    shop.orders_db.execute_unprepared(&sql).await.expect("the order exists");
    let many = || call(&orders, Method::POST, &retry, None);
    let answers = tokio::join!(many(), many(), many(), many());
    let answers: [(StatusCode, Value); 4] = answers.into();
    let done: Vec<_> = answers
        .iter()
        .filter(|(status, _)| *status == StatusCode::OK)
        .map(|(_, body)| body)
        .collect();
    assert_eq!(done, [&json!({"parkedId": id, "state": "retried", "outcome": "processed"})]);
    for (status, body) in &answers {
        assert!([StatusCode::OK, StatusCode::CONFLICT].contains(status), "{body}");
    }
    let order = shop.order_becomes(&order, "Confirmed").await;
    assert_eq!(order["version"], 2, "one change");
    assert_eq!(
        get(&orders, &format!("/parked/{id}")).await["actions"].as_array().map(Vec::len),
        Some(2)
    );
}

async fn what_still_fails_stays_parked_and_may_be_discarded(shop: Shop) {
    let mut garbage = message("OrderPlaced", "order.placed", &Value::Null);
    garbage.body = vec![0, 159, 146];
    shop.publish(&[garbage]).await;
    let inventory = shop.inventory();
    let id = eventually_some("it is parked", || async {
        let list = get(&inventory, "/parked").await;
        list["items"][0]["parkedId"].as_str().map(str::to_owned)
    })
    .await;
    let details = get(&inventory, &format!("/parked/{id}")).await;
    assert_eq!((&details["body"], &details["bodyHex"]), (&Value::Null, &json!("009f92")));
    let expected = |dry_run, failing| json!({"dryRun": dry_run, "count": 1, "processed": 0, "duplicates": 0, "stillFailing": failing, "tooOld": 0});
    let many = |dry_run: bool| json!({"reason": "malformed_body", "dryRun": dry_run});
    assert_eq!(post(&inventory, "/parked/retry", many(true)).await.1, expected(true, 0));
    assert_eq!(post(&inventory, "/parked/retry", many(false)).await.1, expected(false, 1));

    let reason = json!({"reason": "garbage"});
    let (status, _) = post(&inventory, &format!("/parked/{id}/discard"), reason).await;
    assert_eq!(status, StatusCode::OK);
    let (status, _) = post(&inventory, &format!("/parked/{id}/retry"), json!({})).await;
    assert_eq!(status, StatusCode::CONFLICT);
    let details = get(&inventory, &format!("/parked/{id}")).await;
    assert_eq!(
        (&details["state"], &details["actions"][1]["reason"]),
        (&json!("discarded"), &json!("garbage"))
    );
    assert_eq!(shop.reserved("MOUSE").await, 0);
}

const RELAY_CALLS: [(Method, &str); 6] = [
    (Method::GET, "/outbox"),
    (Method::GET, "/outbox/0192b3c4-0000-7000-8000-00000000000a"),
    (Method::POST, "/outbox/0192b3c4-0000-7000-8000-00000000000a/retry"),
    (Method::POST, "/outbox/0192b3c4-0000-7000-8000-00000000000a/discard"),
    (Method::POST, "/outbox/retry"),
    (Method::GET, "/stats"),
];
const SERVICE_CALLS: [(Method, &str); 5] = [
    (Method::GET, "/parked"),
    (Method::GET, "/parked/0192b3c4-0000-7000-8000-00000000000a"),
    (Method::POST, "/parked/0192b3c4-0000-7000-8000-00000000000a/retry"),
    (Method::POST, "/parked/0192b3c4-0000-7000-8000-00000000000a/discard"),
    (Method::POST, "/parked/retry"),
];

async fn every_administrative_call_wants_the_token(mut shop: Shop) {
    let status = async |api: &Api, method: &Method, path: &str, token: Option<&str>| {
        let mut request = api.request(method.clone(), &format!("/admin{path}"));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        request.send().await.expect("an answer").status()
    };
    let parts = [
        (Part::OrdersRelay, &RELAY_CALLS[..]),
        (Part::Orders, &SERVICE_CALLS),
        (Part::Inventory, &SERVICE_CALLS),
    ];
    for (part, calls) in parts {
        let api = shop.api(part);
        for (method, path) in calls {
            assert_eq!(status(&api, method, path, None).await, StatusCode::UNAUTHORIZED, "{path}");
            assert_eq!(
                status(&api, method, path, Some("wrong")).await,
                StatusCode::FORBIDDEN,
                "{path}"
            );
            let with_token = status(&api, method, path, Some("secret")).await;
            assert!(
                ![StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&with_token),
                "{path}"
            );
        }
        shop.start(part, &[("ADMIN_TOKEN", "")]);
        let api = shop.api(part);
        for (method, path) in calls {
            for token in ["", "secret"] {
                let off = status(&api, method, path, Some(token)).await;
                assert_eq!(off, StatusCode::NOT_FOUND, "{path}: they are off");
            }
        }
    }
}

async fn what_a_caller_gets_wrong_is_named_and_changes_nothing(mut shop: Shop) {
    let (_, id) = dead(&mut shop).await;
    let parked = parked(&shop, &OrderId::generate().to_string()).await;
    let (relay, orders) = (shop.api(Part::OrdersRelay), shop.orders());
    let before = (
        get(&relay, &format!("/outbox/{id}")).await,
        get(&orders, &format!("/parked/{parked}")).await,
    );
    for (api, path) in [
        (&relay, "/outbox?state=lost"),
        (&relay, "/outbox?limit=0"),
        (&relay, "/outbox?cursor=x"),
        (&relay, "/outbox/42"),
        (&orders, "/parked?state=lost"),
        (&orders, "/parked?reason=bad_mood"),
        (&orders, "/parked?cursor=x"),
        (&orders, "/parked/42"),
    ] {
        let (status, problem) = call(api, Method::GET, path, None).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path}: {problem}");
    }
    let unknown = OrderId::generate().to_string();
    for (api, path) in
        [(&relay, format!("/outbox/{unknown}")), (&orders, format!("/parked/{unknown}"))]
    {
        assert_eq!(call(api, Method::GET, &path, None).await.0, StatusCode::NOT_FOUND);
        let (status, _) = post(api, &format!("{path}/discard"), json!({"reason": "why"})).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
    }
    for (path, body, field) in [
        (format!("/outbox/{id}/discard"), json!({}), "reason"),
        (format!("/outbox/{id}/discard"), json!({"reason": " "}), "reason"),
        (format!("/outbox/{id}/discard"), json!({"reason": "a\u{0}b"}), "reason"),
        (format!("/outbox/{id}/retry"), json!({"force": "yes"}), "force"),
        ("/outbox/retry".to_owned(), json!({"dryrun": true}), "dryrun"),
        ("/outbox/retry".to_owned(), json!({"state": "sent"}), "state"),
        ("/outbox/retry".to_owned(), json!({"before": "yesterday"}), "before"),
        ("/outbox/retry".to_owned(), json!({"before": "+200000-01-01T00:00:00Z"}), "before"),
        (format!("/parked/{parked}/discard"), json!({}), "reason"),
        (format!("/parked/{parked}/retry"), json!({"force": "yes"}), "force"),
        ("/parked/retry".to_owned(), json!({"reason": "bad_mood"}), "reason"),
        ("/parked/retry".to_owned(), json!({"state": "retried"}), "state"),
    ] {
        let api = if path.starts_with("/outbox") { &relay } else { &orders };
        let (status, problem) = post(api, &path, body.clone()).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{path} {body}: {problem}");
        assert_eq!(problem["errors"][0]["field"], field, "{path} {body}: {problem}");
    }
    let nobody = relay
        .request(Method::POST, &format!("/admin/outbox/{id}/retry"))
        .bearer_auth("secret")
        .header("x-actor", "two words");
    assert_eq!(nobody.send().await.expect("an answer").status(), StatusCode::BAD_REQUEST);
    eventually("nothing has changed", || async {
        let now = (
            get(&relay, &format!("/outbox/{id}")).await,
            get(&orders, &format!("/parked/{parked}")).await,
        );
        now == before
    })
    .await;
    let nul = get(&relay, "/outbox?type=%00").await;
    assert_eq!(nul["items"], json!([]));
}
