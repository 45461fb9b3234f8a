//! HTTP as receivers and senders of webhooks know it: what is on the wire, what
//! each answer means, and that one downstream never holds up another.

use std::time::{Duration, Instant};

use rea_tests::workflow::{define, http, retries, with, workflow};
use rea_tests::{Answer, PATIENCE, Scene, Sink, wait_until};
use serde_json::{Value, json};

/// An action without retries whose attempts take at most `timeout_ms`.
fn once(name: &str, url: &str, timeout_ms: u32) -> Value {
    let action = with(http(name, url), "config", json!({"url": url, "timeoutMs": timeout_ms}));
    with(action, "retryPolicy", retries(0, 10))
}

#[test]
fn a_request_says_who_sends_it_and_why() {
    let mut scene = Scene::open();
    scene.define("order.created", vec![http("notify", &scene.sink.url("/orders?x=1"))]);
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let sql = format!(
        "select rea.fire_event('order.created', 'SO-1', '{{\"a\": 1}}', event_id => 'evt-7', source => 'shop',
            attributes => '{{\"traceparent\": \"{trace}\"}}', correlation_id => 'corr', causation_id => 'cause')"
    );
    scene.client.batch_execute(&sql).expect("fired");
    let instance = scene.finish("SO-1");
    assert_eq!(instance.status, "SUCCESS");
    let request = scene.sink.requests().remove(0);
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/orders?x=1"));
    let key = format!("{}_notify", instance.id);
    let expected = [
        ("idempotency-key", key.as_str()),
        ("x-rea-req-id", &format!("{key}_1")),
        ("x-rea-instance-id", &instance.id),
        ("x-rea-event-id", "evt-7"),
        ("x-rea-event-type", "order.created"),
        ("x-rea-correlation-id", "corr"),
        ("x-rea-causation-id", "cause"),
        ("content-type", "application/json"),
    ];
    for (name, value) in expected {
        assert_eq!(request.header(name), Some(value), "{name}");
    }
    let host = format!("127.0.0.1:{}", scene.sink.port());
    assert_eq!(request.header("host"), Some(host.as_str()));
    assert!(request.header("user-agent").is_some_and(|agent| agent.starts_with("rea/")));
    let parent = request.header("traceparent").expect("a traceparent");
    assert!(parent.starts_with("00-0af7651916cd43dd8448eb211c80319c-") && parent.ends_with("-01"));
    assert!(!parent.contains("b7ad6b7169203331"), "each attempt is a span of its own");
}

#[test]
fn the_payload_arrives_as_postgres_prints_it() {
    let mut scene = Scene::open();
    scene.define("order.created", vec![http("notify", &scene.sink.url("/"))]);
    let payload =
        r#"{"n": 0.10, "big": 123456789012345678901234567890, "s": "a\"b\\c\n<é日本\u2028'", "e": {}, "l": [null]}"#;
    let sql = "select rea.fire_event('order.created', 'SO-1', $1::text::jsonb)";
    scene.client.execute(sql, &[&payload]).expect("fired");
    assert_eq!(scene.finish("SO-1").status, "SUCCESS");
    let row = scene.client.query_one("select payload::text from rea.work_event", &[]).expect("the event");
    let printed: String = row.get(0);
    assert_eq!(String::from_utf8_lossy(&scene.sink.requests()[0].body), printed);
    assert!(printed.contains("0.10") && printed.contains("123456789012345678901234567890"));
}

#[test]
fn outputs_reach_later_steps_with_their_types() {
    let mut scene = Scene::open();
    scene.sink.always("/first", Answer::json(r#"{"id": "R-1", "price": 12.50, "tags": ["a", "b"]}"#));
    let first = with(
        http("first", &scene.sink.url("/first")),
        "output",
        json!({"id": "${response.body.id}", "price": "${response.body.price}", "tags": "${response.body.tags[*]}"}),
    );
    let body = json!({"text": "${steps.first.output.id} for ${payload.name}", "price": "${steps.first.output.price}",
        "tags": "${steps.first.output.tags}", "none": "${payload.absent ?? null}", "name": "${payload.name}"});
    let url = scene.sink.url("/second/${payload.path}");
    let second = with(http("second", ""), "config", json!({"url": url, "timeoutMs": 5000, "body": body}));
    let flow = workflow("typesFlow", "order.created", vec![first, second]);
    define(&mut scene.client, &with(flow, "output", json!({"reservation": "${steps.first.output.id}"})));
    let name = "${payload.secret} \"<tea>\" & ü";
    scene.fire_with("order.created", "SO-1", &json!({"name": name, "path": "a b/c?d"}));
    assert_eq!(scene.finish("SO-1").status, "SUCCESS");
    let request = scene.sink.requests_for("/second").remove(0);
    assert_eq!(request.path, "/second/a%20b%2Fc%3Fd");
    let price: Value = serde_json::from_str("12.50").expect("a number");
    let expected =
        json!({"text": format!("R-1 for {name}"), "price": price, "tags": ["a", "b"], "none": null, "name": name});
    assert_eq!(request.json(), expected);
    assert!(String::from_utf8_lossy(&request.body).contains("12.50"), "numbers keep their scale");
    let row = scene.client.query_one("select result::text from rea.work_instance", &[]).expect("the instance");
    assert_eq!(row.get::<_, String>(0), r#"{"reservation": "R-1"}"#);
}

#[test]
fn each_status_has_its_meaning() {
    let mut scene = Scene::open();
    let retry = [408, 409, 425, 429, 500, 502, 503, 504];
    let permanent = [301, 302, 304, 307, 400, 401, 404, 410, 422, 501, 505];
    let good = [200, 201, 202, 204, 205, 299];
    for status in [&retry[..], &permanent, &good].concat() {
        scene.sink.always(&format!("/s{status}"), Answer::status(status).header("Location", "/elsewhere"));
        let url = scene.sink.url(&format!("/s{status}"));
        scene.define(&format!("s{status}.fired"), vec![once("only", &url, 5_000)]);
        scene.fire(&format!("s{status}.fired"), &format!("S-{status}"));
    }
    for (statuses, expected) in [(&retry[..], "DEAD"), (&permanent, "FAILED"), (&good, "SUCCESS")] {
        for status in statuses {
            let instance = scene.finish(&format!("S-{status}"));
            assert_eq!(instance.status, expected, "status {status}");
            let code = if expected == "SUCCESS" { String::new() } else { format!("http_{status}") };
            assert_eq!(instance.error_code, code);
        }
    }
    assert!(scene.sink.requests_for("/elsewhere").is_empty(), "redirects are not followed");
    assert_eq!(scene.sink.count(), retry.len() + permanent.len() + good.len());
}

#[test]
fn broken_answers_are_failed_attempts_with_a_reason() {
    let mut scene = Scene::open();
    let raw = |text: &str| Answer::Raw(text.as_bytes().to_vec());
    let cases = [
        ("close", Answer::Close, "reset"),
        ("reset", Answer::Reset, "reset"),
        ("short", raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabcde"), "truncated"),
        ("chunk", raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n"), "truncated"),
        ("text", raw("220 mail.example ESMTP\r\n"), "malformed"),
        ("hang", Answer::Hang, "timeout"),
        ("headdrip", Answer::Drip(drip_head(), Duration::from_millis(200)), "timeout"),
        ("bodydrip", Answer::Drip(drip_body(), Duration::from_millis(50)), "timeout"),
    ];
    for (name, answer, _) in &cases {
        scene.sink.always(&format!("/{name}"), answer.clone());
        let second = http("second", &scene.sink.url("/second"));
        let first = once("first", &scene.sink.url(&format!("/{name}")), 1_500);
        scene.define(&format!("{name}.fired"), vec![first, second]);
        scene.fire(&format!("{name}.fired"), name);
    }
    for (name, _, code) in &cases {
        let instance = scene.finish(name);
        assert_eq!((instance.status.as_str(), instance.error_code.as_str()), ("DEAD", *code), "{name}");
    }
    assert!(scene.sink.requests_for("/second").is_empty(), "no step runs on a broken answer");
    let sql = "select coalesce(max(cost_ms), 0)::int8 from rea.work_action_log";
    let longest = rea_tests::workflow::count(&mut scene.client, sql);
    assert!(longest < 4_000, "an attempt of 1.5 s took {longest} ms");
}

/// A head that takes for ever.
fn drip_head() -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nX-Slow: {}\r\nContent-Length: 0\r\n\r\n", "x".repeat(1_000)).into_bytes()
}

/// A complete head, then a body that takes for ever.
fn drip_body() -> Vec<u8> {
    let mut bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n".to_vec();
    bytes.extend_from_slice(&[b'x'; 1_000]);
    bytes
}

#[test]
fn a_receiver_that_is_down_is_tried_again_until_it_is_back() {
    let mut scene = Scene::open();
    let port = Sink::start().port();
    let url = format!("http://127.0.0.1:{port}/");
    let action = with(http("only", &url), "retryPolicy", retries(300, 100));
    scene.define("order.created", vec![action]);
    scene.fire("order.created", "SO-1");
    wait_until(PATIENCE, "it has been refused", || !scene.attempts("SO-1").is_empty());
    let sink = Sink::start_on(port);
    assert_eq!(scene.finish("SO-1").status, "SUCCESS");
    assert_eq!(sink.count(), 1);
    assert_eq!(scene.attempts("SO-1")[0].error_code, "connect");
}

#[test]
fn idle_connections_that_the_receiver_closed_cost_no_attempt() {
    let mut scene = Scene::open();
    scene.define("order.created", vec![http("only", &scene.sink.url("/"))]);
    for number in 0..20 {
        scene.fire("order.created", &format!("SO-{number}"));
        scene.finish(&format!("SO-{number}"));
        scene.sink.close_connections();
    }
    scene.finish_all(20, PATIENCE);
    assert_eq!(scene.sink.count(), 20);
    let mut failed = rea_tests::workflow::count(
        &mut scene.client,
        "select count(*) from rea.work_action_log where status <> 'SUCCESS' and error_code <> 'reset'",
    );
    failed += rea_tests::workflow::count(&mut scene.client, "select sum(retry_count)::int8 from rea.work_instance");
    assert_eq!(failed, 0, "a stale connection uses up no retry");
}

#[test]
fn a_stuck_receiver_does_not_delay_another() {
    let mut scene = Scene::open();
    let slow = Sink::start();
    slow.always("/", Answer::Hang);
    scene.define("slow.fired", vec![once("only", &slow.url("/"), 60_000)]);
    scene.define("fast.fired", vec![http("only", &scene.sink.url("/"))]);
    let sql = "select count(rea.fire_event('slow.fired', 'S-' || g, '{}')) from generate_series(1, 500) g";
    scene.client.batch_execute(sql).expect("fired");
    wait_until(PATIENCE, "the slow lane is full", || slow.in_flight() >= 64);
    let start = Instant::now();
    for number in 0..50 {
        scene.fire("fast.fired", &format!("F-{number}"));
    }
    let sink = &scene.sink;
    wait_until(PATIENCE, "the fast ones have arrived", || sink.count() == 50);
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(slow.in_flight(), 64, "the bound of the slow lane holds");
}
