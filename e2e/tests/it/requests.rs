//! What a client can send, and the answer to it: never a 500.

use e2e::{Shop, on_both};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

on_both!(
    every_bad_order_gets_a_problem_that_names_the_fault,
    every_bad_request_gets_a_problem_of_its_own_status,
    stock_is_set_by_whoever_has_the_token_and_never_below_what_is_reserved,
);

async fn every_bad_order_gets_a_problem_that_names_the_fault(shop: Shop) {
    let with =
        |customer: &str, lines: &str| format!(r#"{{"customerId":{customer},"lines":{lines}}}"#);
    let line = r#"[{"sku":"MOUSE","quantity":1}]"#;
    let quantity = |text: &str| {
        with(
            "\"c\"",
            &format!(r#"[{{"sku":"MOUSE","quantity":1}},{{"sku":"MOUSE","quantity":{text}}}]"#),
        )
    };
    let many = |count| {
        with("\"c\"", &format!("[{}]", [r#"{"sku":"A","quantity":1}"#; 200][..count].join(",")))
    };
    let mut cases = vec![
        (400, String::new(), ""),
        (400, "{".to_owned(), ""),
        (400, "nonsense".to_owned(), ""),
        (400, format!("{} x", with("\"c\"", line)), ""),
        (422, "null".to_owned(), "."),
        (422, "[]".to_owned(), "."),
        (422, "7".to_owned(), "."),
        (422, format!("[\"c\",{line}]"), "."),
        (422, with("\"c\"", r#"[["MOUSE",1]]"#), "lines[0]"),
        (422, "{}".to_owned(), "customerId"),
        (422, r#"{"customerId":"c"}"#.to_owned(), "lines"),
        (422, with("\"\"", line), "customerId"),
        (422, with("\" c\"", line), "customerId"),
        (422, with(r#""a\u0000b""#, line), "customerId"),
        (422, with(r#""\ud800""#, line), "customerId"),
        (422, with("7", line), "customerId"),
        (422, with("null", line), "customerId"),
        (422, with(&format!("\"{}\"", "ü".repeat(65)), line), "customerId"),
        (422, with("\"c\"", "[]"), "lines"),
        (422, with("\"c\"", "{}"), "lines"),
        (422, many(101), "lines"),
        (422, with("\"c\"", r#"[{"sku":"mouse","quantity":1}]"#), "lines[0].sku"),
        (422, with("\"c\"", r#"[{"quantity":1}]"#), "lines[0].sku"),
        (422, with("\"c\"", r#"[{"sku":"A","quantity":1,"colour":"red"}]"#), "lines[0].colour"),
        (
            422,
            r#"{"customerId":"c","customerId":"d","lines":[{"sku":"A","quantity":1}]}"#.to_owned(),
            "customerId",
        ),
        (422, format!("{{\"lines\":{line},\"customerId\":\"c\",\"vip\":true}}"), "vip"),
        (422, "[".repeat(20_000) + &"]".repeat(20_000), "."),
    ];
    for bad in [
        "0",
        "-1",
        "-0",
        "10001",
        "1.0",
        "1e2",
        "1e400",
        "\"5\"",
        "true",
        "null",
        "18446744073709551616",
    ] {
        cases.push((422, quantity(bad), "lines[1].quantity"));
    }
    for (status, body, field) in cases {
        let shown: String = body.chars().take(80).collect();
        let request = shop.orders().request(Method::POST, "/orders");
        let answer = request
            .header("content-type", "application/json")
            .body(body)
            .send()
            .await
            .expect("an answer");
        assert_eq!(answer.status().as_u16(), status, "{shown}");
        assert_eq!(answer.headers()["content-type"], "application/problem+json", "{shown}");
        let problem: Value = answer.json().await.expect("JSON");
        assert_eq!(problem["status"], status, "{shown}");
        if status == 422 {
            assert_eq!(problem["errors"][0]["field"], field, "{shown} {problem}");
        }
    }
    let (_, problem) = shop
        .orders()
        .post("/orders", &json!({"customerId": "", "lines": [{"sku": "?", "quantity": 0}]}))
        .await;
    let fields: Vec<_> = problem["errors"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|error| error["field"].clone())
        .collect();
    assert_eq!(fields, ["customerId", "lines[0].sku", "lines[0].quantity"], "all mistakes at once");
    assert_eq!(shop.count(&shop.orders_db, "orders").await, 0);
}

async fn every_bad_request_gets_a_problem_of_its_own_status(shop: Shop) {
    let (orders, inventory) = (shop.orders(), shop.inventory());
    let order = r#"{"customerId":"c","lines":[{"sku":"A","quantity":1}]}"#;
    let large = format!(r#"{{"customerId":"{}","lines":[]}}"#, "x".repeat(70_000));
    let json_type = "application/json";
    for (api, method, path, content_type, body, expected) in [
        (&orders, Method::POST, "/orders", "text/plain", order, 415),
        (&orders, Method::POST, "/orders", "", order, 415),
        (&orders, Method::POST, "/orders", json_type, large.as_str(), 413),
        (&orders, Method::POST, "/orders", "application/json; charset=utf-8", order, 201),
        (&orders, Method::DELETE, "/orders", "", "", 405),
        (
            &orders,
            Method::PUT,
            "/orders/0192b3c4-0000-7000-8000-000000000001",
            json_type,
            "{}",
            405,
        ),
        (&orders, Method::GET, "/nothing", "", "", 404),
        (&orders, Method::GET, "/orders/42", "", "", 400),
        (&orders, Method::GET, "/orders/%ff", "", "", 400),
        (&orders, Method::GET, "/orders/0192b3c4-0000-7000-8000-000000000001", "", "", 404),
        (&orders, Method::GET, "/orders?limit=%ff&customerId=%00", "", "", 400),
        (&orders, Method::GET, "/orders?customerId=%00&unknown=1", "", "", 200),
        (&inventory, Method::GET, "/stock/mouse", "", "", 400),
        (&inventory, Method::GET, "/stock/UNICORN", "", "", 404),
        (&inventory, Method::GET, "/reservations/42", "", "", 400),
        (
            &inventory,
            Method::GET,
            "/reservations/0192b3c4-0000-7000-8000-000000000001",
            "",
            "",
            404,
        ),
        (&inventory, Method::PUT, "/stock/MOUSE", json_type, r#"{"onHand":1}"#, 401),
    ] {
        let mut request = api.request(method.clone(), path).body(body.to_owned());
        if !content_type.is_empty() {
            request = request.header("content-type", content_type);
        }
        let answer = request.send().await.expect("an answer");
        assert_eq!(answer.status().as_u16(), expected, "{method} {path}");
        if expected >= 400 {
            assert_eq!(
                answer.headers()["content-type"],
                "application/problem+json",
                "{method} {path}"
            );
            if expected == 405 {
                assert!(answer.headers().contains_key("allow"), "{method} {path}");
            }
            let problem: Value = answer.json().await.expect("JSON");
            assert_eq!(problem["status"], expected, "{method} {path}");
        }
    }
}

async fn stock_is_set_by_whoever_has_the_token_and_never_below_what_is_reserved(shop: Shop) {
    let put = async |sku: &str, token: &str, body: Value| {
        let request = shop.inventory().request(Method::PUT, &format!("/stock/{sku}"));
        let answer = request.bearer_auth(token).json(&body).send().await.expect("an answer");
        (answer.status(), answer.json::<Value>().await.expect("JSON"))
    };
    let (status, item) = put("GADGET", "secret", json!({"onHand": 3})).await;
    assert_eq!(status, StatusCode::CREATED);
    assert_eq!(item, json!({"sku": "GADGET", "onHand": 3, "reserved": 0, "available": 3}));
    let id = shop.place(&e2e::order_of(&[("GADGET", 2)])).await;
    shop.order_becomes(&id, "Confirmed").await;

    assert_eq!(put("GADGET", "secret", json!({"onHand": 1})).await.0, StatusCode::CONFLICT);
    let (status, item) = put("GADGET", "secret", json!({"onHand": 2})).await;
    assert_eq!((status, &item["available"]), (StatusCode::OK, &json!(0)));
    assert_eq!(put("GADGET", "wrong", json!({"onHand": 9})).await.0, StatusCode::FORBIDDEN);
    for bad in
        [json!({"onHand": -1}), json!({"onHand": 1.5}), json!({}), json!({"onHand": 1, "x": 1})]
    {
        assert_eq!(put("GADGET", "secret", bad).await.0, StatusCode::UNPROCESSABLE_ENTITY);
    }
    let (_, stock) = shop.inventory().get("/stock?limit=2").await;
    assert_eq!(stock["items"][0]["sku"], "GADGET");
    assert_eq!(stock["nextCursor"], "KEYBOARD");
}
