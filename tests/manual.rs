//! The manual's examples do what the manual says: the complete workflow of each page of `docs/reference/actions/`, read
//! from the page and run. Host names stand for the sink; everything else is as printed.

use std::path::Path;

use rea_tests::workflow::{define, fire};
use rea_tests::{Answer, PATIENCE, Scene, wait_until};
use serde_json::{Value, json};

/// The host names that the manual's examples call.
const HOSTS: [&str; 6] =
    ["stock.internal", "points.internal", "bank.internal", "list.internal", "message.internal", "billing.internal"];

/// The JSON blocks of a page.
fn examples(page: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference").join(page);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default().to_owned()).collect()
}

/// A scene with what examples name: functions, tables and a receiver for all hosts.
fn scene() -> Scene {
    let mut scene = Scene::open();
    let sql = "create schema app; create sequence app.invoice_no;
        create table app.message (order_no text, body jsonb);
        create function app.send_message(context jsonb) returns jsonb language plpgsql as $$
        begin
            insert into app.message (order_no, body) values (context #>> '{event,bizKey}', context -> 'payload');
            return jsonb_build_object('sent', true);
        end
        $$";
    scene.client.batch_execute(sql).expect("what examples name");
    scene
}

/// The example of a page, its hosts replaced by the sink.
fn example(scene: &Scene, page: &str) -> Value {
    let text = examples(page).into_iter().next().unwrap_or_else(|| panic!("{page} has no example"));
    here(scene, page, text)
}

fn here(scene: &Scene, page: &str, mut text: String) -> Value {
    for host in HOSTS {
        text = text.replace(&format!("http://{host}"), &scene.sink.origin());
    }
    let definition: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{page}: {e}"));
    let calls = text.matches("http://").count();
    assert_eq!(calls, text.matches(&scene.sink.origin()).count(), "{page} calls a host that this test does not know");
    definition
}

/// Defines the example of a page and fires its event.
fn run(scene: &mut Scene, page: &str, biz_key: &str, payload: &Value) -> Value {
    let definition = example(scene, page);
    define(&mut scene.client, &definition);
    let event_type = definition["triggerEvent"].as_str().unwrap_or_else(|| panic!("{page}: triggerEvent")).to_owned();
    fire(&mut scene.client, &event_type, biz_key, payload);
    definition
}

/// Waits until the instance that the event of a key started has ended; returns its status and result.
fn ended(scene: &mut Scene, biz_key: &str) -> (String, Value) {
    let sql = "select i.status, coalesce(i.result, 'null')::text from rea.work_instance i
               where i.biz_key = $1 and i.parent_instance_id is null and i.end_time is not null";
    let mut found = None;
    wait_until(PATIENCE, &format!("{biz_key} has ended"), || {
        found = scene.client.query_opt(sql, &[&biz_key]).expect("work_instance");
        found.is_some()
    });
    let row = found.expect("it was just there");
    let result: String = row.get(1);
    (row.get(0), serde_json::from_str(&result).expect("a result"))
}

/// Payload of the only event of this type.
fn event(scene: &mut Scene, event_type: &str) -> Value {
    let sql = "select payload::text from rea.work_event where event_type = $1";
    let mut found = None;
    wait_until(PATIENCE, &format!("{event_type} was emitted"), || {
        found = scene.client.query_opt(sql, &[&event_type]).expect("work_event");
        found.is_some()
    });
    let text: String = found.expect("it was just there").get(0);
    serde_json::from_str(&text).expect("a payload")
}

#[test]
fn every_action_type_has_a_page_whose_example_is_run_here() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/actions");
    let mut pages: Vec<String> = std::fs::read_dir(folder)
        .expect("the pages")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    pages.sort();
    let types = ["emit", "foreach", "http", "local", "lua", "message", "parallel", "switch", "wait", "workflow"];
    assert_eq!(pages, types.map(|name| format!("{name}.md")));
    let own = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("manual.rs")).expect("this file");
    for page in pages {
        assert!(own.contains(&format!("\"actions/{page}\"")), "{page} is not run");
    }
}

#[test]
fn the_examples_of_single_steps_run_as_printed() {
    let mut scene = scene();
    scene.sink.always("/", Answer::json(r#"{"id": "r-17"}"#));
    run(&mut scene, "actions/http.md", "H-1", &json!({"sku": "tea", "qty": 2}));
    assert_eq!(ended(&mut scene, "H-1").0, "SUCCESS");
    run(&mut scene, "actions/local.md", "L-1", &json!({}));
    assert_eq!(ended(&mut scene, "L-1").0, "SUCCESS");
    run(&mut scene, "actions/lua.md", "U-1", &json!({"qty": 3, "price": 2.5}));
    assert_eq!(ended(&mut scene, "U-1").0, "SUCCESS");
    assert_eq!(event(&mut scene, "order.priced"), json!({"total": 7.5}));
    run(&mut scene, "actions/message.md", "M-1", &json!({"items": [1, 2]}));
    assert_eq!(ended(&mut scene, "M-1").0, "SUCCESS");
    let emit = run(&mut scene, "actions/emit.md", "E-1", &json!({"complete": true}));
    assert_eq!(ended(&mut scene, "E-1").0, "SUCCESS");
    let emitted = emit["actions"][0]["config"]["eventType"].as_str().expect("a type").to_owned();
    event(&mut scene, &emitted);
}

#[test]
fn the_examples_of_branches_run_as_printed() {
    let mut scene = scene();
    scene.sink.always("/", Answer::json(r#"{"balance": 12, "next": null, "id": "s-1"}"#));
    run(&mut scene, "actions/parallel.md", "P-1", &json!({}));
    assert_eq!(ended(&mut scene, "P-1"), ("SUCCESS".to_owned(), json!({"balance": 12})));
    event(&mut scene, "order.confirmed");
    run(
        &mut scene,
        "actions/foreach.md",
        "F-1",
        &json!({"items": [{"sku": "a", "qty": 1}, {"sku": "b", "qty": 2}, {"sku": "c", "qty": 3}]}),
    );
    assert_eq!(ended(&mut scene, "F-1").0, "SUCCESS");
    assert_eq!(scene.sink.requests().iter().filter(|request| request.key().contains("_")).count(), 4);
    run(&mut scene, "actions/switch.md", "S-1", &json!({"amount": 5}));
    assert_eq!(ended(&mut scene, "S-1").0, "SUCCESS");
}

#[test]
fn the_example_of_a_child_workflow_calls_itself_page_by_page() {
    let mut scene = scene();
    scene.sink.always("/pages/1", Answer::json(r#"{"next": 2}"#));
    scene.sink.always("/pages/2", Answer::json(r#"{"next": 3}"#));
    scene.sink.always("/pages/3", Answer::json("{}"));
    run(&mut scene, "actions/workflow.md", "W-1", &json!({}));
    let sql = "select count(*) from rea.work_instance where workflow_name = 'pullPages' and status = 'SUCCESS'";
    wait_until(PATIENCE, "three pages were read", || {
        scene.client.query_one(sql, &[]).expect("work_instance").get::<_, i64>(0) == 3
    });
    let paths: Vec<String> = scene.sink.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/pages/1", "/pages/2", "/pages/3"]);
}

#[test]
fn the_example_of_a_wait_goes_on_with_the_event_it_awaits() {
    let mut scene = scene();
    run(&mut scene, "actions/wait.md", "O-1", &json!({}));
    fire(&mut scene.client, "order.paid", "O-1", &json!({"currency": "USD"}));
    fire(&mut scene.client, "order.paid", "O-1", &json!({"currency": "EUR", "amount": 1.10}));
    assert_eq!(ended(&mut scene, "O-1").0, "SUCCESS");
    assert_eq!(event(&mut scene, "order.ready"), json!({"payment": {"currency": "EUR", "amount": 1.10}}));
}

/// The two long examples: that of the manual of the language, and the one that the language was designed by.
#[test]
fn the_example_of_the_whole_language_runs_as_printed() {
    let designed =
        |scene: &Scene| here(scene, "example.json", include_str!("../src/flow/tests/example.json").to_owned());
    run_the_long_example(designed, &json!({"orderId": "SO-1"}), 1);
    run_the_long_example(|scene| example(scene, "language.md"), &json!({"order": "SO-1"}), 0);
}

fn run_the_long_example(definition: impl Fn(&Scene) -> Value, ready: &Value, messages: i64) {
    let mut scene = scene();
    scene.sink.always("/inventory", Answer::json(r#"{"id": "R-9"}"#));
    scene.sink.always("/grant", Answer::json("{}"));
    let definition = definition(&scene);
    assert_eq!(definition["workflowName"], "orderNotifyFlow");
    define(&mut scene.client, &definition);
    fire(&mut scene.client, "order.created", "SO-1", &json!({"channel": "wechat", "sku": "tea", "qty": 1}));
    fire(&mut scene.client, "order.paid", "SO-1", &json!({}));
    assert_eq!(ended(&mut scene, "SO-1"), ("SUCCESS".to_owned(), json!({"reservation": "R-9"})));
    assert_eq!(&event(&mut scene, "order.ready"), ready);
    let sent = "select count(*) from app.message where order_no = 'SO-1'";
    assert_eq!(scene.client.query_one(sent, &[]).expect("app.message").get::<_, i64>(0), messages);
}
