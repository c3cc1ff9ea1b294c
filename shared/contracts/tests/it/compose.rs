//! The compose stack's users have exactly the rights of `broker-rights.json`.

use serde_json::{Value, json};

const RIGHTS: &str = include_str!("../../broker-rights.json");
const DEFINITIONS: &str = include_str!("../../../../deploy/compose/rabbitmq/definitions.json");

#[test]
fn the_compose_stack_gives_each_process_the_least_rights_at_the_broker() {
    let rights: Value = serde_json::from_str(RIGHTS).expect("JSON");
    let definitions: Value = serde_json::from_str(DEFINITIONS).expect("JSON");
    let mut given = definitions["permissions"].as_array().expect("permissions").clone();
    given.retain(|permission| permission["user"] != "admin");
    for permission in &mut given {
        assert_eq!(permission.as_object_mut().expect("one").remove("vhost"), Some(json!("shop")));
    }
    assert_eq!(Value::Array(given), rights["permissions"]);
    for user in definitions["users"].as_array().expect("users") {
        let is_admin = user["name"] == "admin";
        assert_eq!(user["tags"] == json!(["administrator"]), is_admin, "{user}");
        assert!(is_admin || user["tags"] == json!([]), "{user}");
        assert!(user["password"].as_str().is_some_and(|p| p.starts_with("{{")), "a password");
    }
}
