//! Bad input: it is refused where it enters, or ends its own instance with a
//! reason. The workers live on, and so does everybody else's work.

use rea_tests::workflow::{http, retries, with};
use rea_tests::{Answer, Scene};
use serde_json::{Value, json};

/// Opens a scene whose canary must still sing at the end.
fn scene_with_canary() -> (Scene, Vec<i32>) {
    let mut scene = Scene::open();
    scene.define("canary.fired", vec![http("sing", &scene.sink.url("/canary"))]);
    scene.fire("canary.fired", "canary-first");
    assert_eq!(scene.finish("canary-first").status, "SUCCESS");
    let workers = scene.workers();
    (scene, workers)
}

fn assert_unharmed(mut scene: Scene, workers: &[i32]) {
    scene.fire("canary.fired", "canary-last");
    assert_eq!(scene.finish("canary-last").status, "SUCCESS");
    assert_eq!(scene.workers(), workers, "the workers are the same processes");
    let log = scene.cluster.log();
    for word in ["terminated by signal", "PANIC", "panicked"] {
        assert!(!log.contains(word), "{word} in the log:\n{log}");
    }
}

#[test]
fn fire_event_names_the_field_and_the_limit_it_refuses() {
    let (scene, workers) = scene_with_canary();
    let cases = [
        ("null, 'k', '{}'", "22004", "event_type"),
        ("'t', null, '{}'", "22004", "biz_key"),
        ("'t', 'k', null", "22004", "payload"),
        ("repeat('x', 256), 'k', '{}'", "54000", "event_type"),
        ("'t', repeat('x', 1025), '{}'", "54000", "biz_key"),
        ("'t', repeat('x', 100000), '{}'", "54000", "biz_key"),
        ("'t', 'k', '{}', repeat('x', 513), 's'", "54000", "event_id"),
        ("'t', 'k', '{}', 'e', repeat('x', 256)", "54000", "source"),
        ("'t', 'k', '{}', null, 'shop'", "22023", "event_id"),
        ("'t', 'k', jsonb_build_object('x', repeat('x', 70000000))", "54000", "payload"),
    ];
    for (arguments, state, field) in cases {
        let error = scene.cluster.psql_error("app", &format!("select rea.fire_event({arguments})"));
        assert!(error.contains(state) && error.contains(field), "{arguments}: {error}");
    }
    assert_unharmed(scene, &workers);
}

#[test]
fn large_and_deep_payloads_arrive_whole_or_end_with_a_reason() {
    let (mut scene, workers) = scene_with_canary();
    scene.define("raw.fired", vec![http("send", &scene.sink.url("/raw"))]);
    let deep = with(
        http("send", ""),
        "config",
        json!({"url": scene.sink.url("/deep"), "timeoutMs": 20_000,
        "body": {"all": "${payload}"}}),
    );
    scene.define("deep.fired", vec![deep]);
    let payloads = [
        ("large", "jsonb_build_object('x', repeat('é', 500000))".to_owned()),
        ("wide", "(select jsonb_object_agg('k' || g, g) from generate_series(1, 50000) g)".to_owned()),
        ("deep100", format!("'{}1{}'::jsonb", "[".repeat(100), "]".repeat(100))),
        ("deep200", format!("'{}1{}'::jsonb", "{\"a\":".repeat(200), "}".repeat(200))),
        ("deep5000", format!("'{}1{}'::jsonb", "[".repeat(5_000), "]".repeat(5_000))),
    ];
    for (name, payload) in &payloads {
        for kind in ["raw", "deep"] {
            let sql = format!("select rea.fire_event('{kind}.fired', '{kind}-{name}', {payload})");
            scene.client.batch_execute(&sql).expect("fired");
        }
    }
    for (name, _) in &payloads {
        assert_eq!(scene.finish(&format!("raw-{name}")).status, "SUCCESS", "{name}");
        let deep = scene.finish(&format!("deep-{name}"));
        assert!(deep.status == "SUCCESS" || !deep.error_code.is_empty(), "{name}: {deep:?}");
    }
    let largest = scene.sink.requests_for("/raw").iter().map(|r| r.body.len()).max();
    assert_eq!(largest, Some(1_000_000 + r#"{"x": ""}"#.len()), "the large payload arrives byte-complete");
    assert_unharmed(scene, &workers);
}

#[test]
fn values_from_the_payload_cannot_forge_headers_or_requests() {
    let (mut scene, workers) = scene_with_canary();
    let config = json!({"url": scene.sink.url("/forged"), "timeoutMs": 5000, "headers": {"X-Name": "${payload.name}"}});
    scene.define("header.fired", vec![with(http("send", ""), "config", config)]);
    let bad = ["a\r\nX-Forged: 1", "a\rb", "a\nb", "\u{1f375}", "سلام", "a\u{7f}b", &"x".repeat(100_000)];
    for (number, value) in bad.iter().enumerate() {
        scene.fire_with("header.fired", &format!("bad-{number}"), &json!({"name": value}));
        let instance = scene.finish(&format!("bad-{number}"));
        let ending = (instance.status.as_str(), instance.error_code.as_str());
        assert_eq!(ending, ("FAILED", "invalid_header"), "{value:.20}");
    }
    assert!(scene.sink.requests_for("/forged").is_empty());
    scene.fire_with("header.fired", "good", &json!({"name": "a\tb"}));
    assert_eq!(scene.finish("good").status, "SUCCESS");
    assert_eq!(scene.sink.requests_for("/forged")[0].header("x-name"), Some("a\tb"));
    assert_unharmed(scene, &workers);
}

#[test]
fn templates_that_find_nothing_or_too_much_end_the_instance() {
    let (mut scene, workers) = scene_with_canary();
    let cases = [
        ("missing", json!({"x": "${payload.absent.deep}"}), "missing_value"),
        ("many", json!({"x": "${payload.list[0 to 1]}"}), "many_values"),
    ];
    for (name, body, code) in cases {
        let config = json!({"url": scene.sink.url("/t"), "timeoutMs": 5000, "body": body});
        scene.define(&format!("{name}.fired"), vec![with(http("send", ""), "config", config)]);
        scene.fire_with(&format!("{name}.fired"), name, &json!({"list": [1, 2]}));
        let instance = scene.finish(name);
        assert_eq!((instance.status.as_str(), instance.error_code.as_str()), ("FAILED", code));
    }
    assert!(scene.sink.requests_for("/t").is_empty());
    assert_unharmed(scene, &workers);
}

#[test]
fn odd_answers_harm_nobody() {
    let (mut scene, workers) = scene_with_canary();
    let json = |body: &str| Answer::body(200, "application/json", body);
    let cases = [
        ("deep", json(&format!("{}1{}", "[".repeat(6_000), "]".repeat(6_000)))),
        ("labelled", json("this is not JSON")),
        ("bom", json("\u{feff}{\"id\": 1}")),
        ("null", json("null")),
        ("nul", json("{\"id\": \"a\\u0000b\"}")),
        ("latin", Answer::Raw(b"HTTP/1.1 200 OK\r\nX: \xe9\r\nContent-Length: 2\r\n\r\n\xe9\xe9".to_vec())),
        ("empty", Answer::body(200, "application/json", "")),
        ("large", json(&format!("\"{}\"", "x".repeat(3_000_000)))),
        ("status0", Answer::Raw(b"HTTP/1.1 000 X\r\n\r\n".to_vec())),
        ("status999", Answer::Raw(b"HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n".to_vec())),
        ("lengths", Answer::Raw(b"HTTP/1.1 200 X\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx".to_vec())),
        ("preface", Answer::Raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec())),
    ];
    for (name, answer) in &cases {
        scene.sink.always(&format!("/odd/{name}"), answer.clone());
        let action = with(http("ask", &scene.sink.url(&format!("/odd/{name}"))), "retryPolicy", retries(0, 10));
        let action = with(action, "output", json!({"id": "${response.body.id ?? null}"}));
        scene.define(&format!("{name}.fired"), vec![action]);
        scene.fire(&format!("{name}.fired"), name);
    }
    for (name, _) in &cases {
        let instance = scene.finish(name);
        let has_reason = instance.status == "SUCCESS" || !instance.error_code.is_empty();
        assert!(has_reason, "{name}: {instance:?}");
    }
    for name in ["null", "empty", "labelled"] {
        assert_eq!(scene.finish(name).status, "SUCCESS", "{name}");
    }
    assert_unharmed(scene, &workers);
}

#[test]
fn nonsense_is_no_definition() {
    let (scene, workers) = scene_with_canary();
    let action = json!({"name": "a", "type": "http", "config": {"url": "http://h/", "timeoutMs": 1}});
    let flow = |key: &str, value: Value| {
        let base = json!({"workflowName": "w", "triggerEvent": "t", "actions": [action.clone()]});
        with(base, key, value)
    };
    let cases = [
        json!(null),
        json!([]),
        json!("text"),
        json!({}),
        flow("actions", json!([])),
        flow("actions", json!([action, action])),
        flow("actions", json!([with(action.clone(), "type", json!("teleport"))])),
        flow("actions", json!([with(action.clone(), "name", json!("a b"))])),
        flow("actions", json!([with(action.clone(), "config", json!({"url": "http://h/"}))])),
        flow("actions", json!([with(action.clone(), "config", json!({"url": "ftp://h/", "timeoutMs": 1}))])),
        flow("actions", json!([with(action.clone(), "config", json!({"url": "http://h/${pay", "timeoutMs": 1}))])),
        flow("timeoutSecond", json!(5)),
        flow("timeoutSeconds", json!(-5)),
        flow("retryPolicy", json!({"maxAttempts": 3})),
        flow("retryPolicy", json!({"backoffMultiplier": 0.5})),
        flow("match", json!("$.payload.x >")),
    ];
    for definition in cases {
        let text = definition.to_string().replace('\'', "''");
        let error = scene.cluster.psql_error("app", &format!("select rea.define_workflow('{text}')"));
        assert!(error.contains("22023") || error.contains("0A000"), "{text}: {error}");
    }
    assert_unharmed(scene, &workers);
}
