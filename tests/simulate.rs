//! A simulation tells what really happens: workflows run for real against a receiver that answers as mocked, and
//! simulated with the same mocks, make the same attempts with the same outcomes and come to the same end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use postgres::Client;
use rea_tests::workflow::{count, define, fire, retries, with};
use rea_tests::{Answer, PATIENCE, Scene, Sink, wait_until};
use serde_json::{Value, json};

/// One workflow; its name is also its event type and its business key.
struct Case {
    name: &'static str,
    workflow: Value,
    mocks: Value,
}

/// An http action whose URL is its own name, so that the receiver knows whom it answers.
fn http(sink: &Sink, name: &str) -> Value {
    let url = sink.url(&format!("/{name}"));
    json!({"name": name, "type": "http", "compensate": "keep", "retryPolicy": retries(2, 30),
           "config": {"url": url, "timeoutMs": 2000}})
}

fn undone(sink: &Sink, name: &str) -> Value {
    let url = sink.url(&format!("/{name}~undo"));
    let undo = json!({"type": "http", "config": {"url": url, "timeoutMs": 2000, "body": {"of": "${action.name}"}},
                      "retryPolicy": retries(2, 30)});
    with(http(sink, name), "compensate", undo)
}

fn wait(name: &str, config: Value) -> Value {
    json!({"name": name, "type": "wait", "config": config})
}

fn case(name: &'static str, actions: Vec<Value>, mocks: Value) -> Case {
    Case { name, workflow: json!({"workflowName": name, "triggerEvent": name, "actions": actions}), mocks }
}

fn serial_cases(sink: &Sink) -> Vec<Case> {
    let paid = with(http(sink, "s2"), "output", json!({"id": "${response.body.id}"}));
    let mut reader = http(sink, "s3");
    reader["config"]["body"] = json!({"id": "${steps.s2.output.id}", "n": "${payload.n}"});
    let unlikely = with(http(sink, "never"), "when", json!("$.payload.n == 7"));
    let result = json!({"id": "${steps.s2.output.id}"});
    let serial = case(
        "serial",
        vec![http(sink, "s1"), paid, reader, unlikely],
        json!({"actions": {"s1": [{"status": 503}, {"status": 429}, {"status": 200}],
                           "s2": {"status": 200, "body": {"id": 1.50}}}}),
    );
    let on_error = |name, word| {
        let failing = with(http(sink, &format!("{name}1")), "onError", json!(word));
        let mocks = json!({"actions": {format!("{name}1"): {"status": 404}}});
        case(name, vec![failing, http(sink, &format!("{name}2"))], mocks)
    };
    let dead = case("dead", vec![http(sink, "d1")], json!({"actions": {"d1": {"status": 500}}}));
    vec![
        Case { workflow: with(serial.workflow, "output", result), ..serial },
        on_error("goes", "continue"),
        on_error("stops", "pause"),
        dead,
    ]
}

fn branching_cases(sink: &Sink) -> Vec<Case> {
    let parallel = json!({"name": "both", "type": "parallel", "branches": {
        "x": [http(sink, "x1"), http(sink, "x2")], "y": [http(sink, "y1")]}});
    let race = json!({"name": "race", "type": "parallel", "join": "any", "branches": {
        "quick": [http(sink, "q1")], "slow": [http(sink, "l1"), http(sink, "l2")]}});
    let mut item = http(sink, "one");
    item["config"]["url"] = json!(sink.url("/one/${index}"));
    let each = json!({"name": "each", "type": "foreach", "config": {
        "items": "${payload.list}", "maxConcurrency": 2, "actions": [item]}});
    let switch = json!({"name": "which", "type": "switch", "config": {
        "cases": [{"when": "$.payload.n == 2", "actions": [http(sink, "w2")]},
                  {"when": "$.payload.n == 1", "actions": [http(sink, "w1")]}],
        "default": [http(sink, "w0")]}});
    vec![
        case(
            "parallel",
            vec![parallel, http(sink, "after")],
            json!({"actions": {"x1": [{"status": 500}, {"status": 200}], "y1": {"status": 200, "costMs": 20}}}),
        ),
        case("race", vec![race], json!({"actions": {"l1": {"status": 200, "costMs": 400}}})),
        case(
            "foreach",
            vec![each],
            json!({"actions": {"one[1]": {"status": 404}, "one[2]": [{"status": 503}, {"status": 200}]}}),
        ),
        case("switch", vec![switch], json!({})),
    ]
}

fn waiting_cases(sink: &Sink) -> Vec<Case> {
    let any = json!({"any": [{"eventType": "order.paid"}, {"eventType": "order.gone"}], "timeoutSeconds": 60});
    let announced = with(http(sink, "announce"), "when", json!("$.steps.a.output.eventType == \"order.gone\""));
    let gone = |key| json!({"events": [{"afterSeconds": 1, "event_type": "order.gone", "biz_key": key}]});
    let late = |word| json!({"any": [{"eventType": "no.such"}], "timeoutSeconds": 0.3, "onTimeout": word});
    let cancelled = case("cancelled", vec![wait("c", json!({"durationSeconds": 600}))], gone("cancelled"));
    let deadline = case("deadline", vec![http(sink, "h1")], json!({"actions": {"h1": {"fail": "timeout"}}}));
    let overdue = case("overdue", vec![wait("o", json!({"durationSeconds": 600}))], json!({}));
    vec![
        case("arrives", vec![wait("a", any), announced], gone("arrives")),
        case("late", vec![wait("l", late("continue")), http(sink, "go")], json!({})),
        case("tooLate", vec![undone(sink, "done"), wait("t", late("fail"))], json!({})),
        Case { workflow: with(cancelled.workflow, "cancelOn", json!([{"eventType": "order.gone"}])), ..cancelled },
        Case { workflow: with(deadline.workflow, "timeoutSeconds", json!(0.5)), ..deadline },
        Case { workflow: with(overdue.workflow, "timeoutSeconds", json!(0.5)), ..overdue },
    ]
}

fn undoing_cases(sink: &Sink) -> Vec<Case> {
    let branches = json!({"name": "both", "type": "parallel", "branches": {
        "x": [undone(sink, "bx")], "y": [undone(sink, "by1"), http(sink, "by2")]}});
    let mut hangs = with(undone(sink, "u2"), "retryPolicy", json!({"maxRetries": 0}));
    hangs["config"]["timeoutMs"] = json!(300);
    vec![
        case(
            "undo",
            vec![undone(sink, "u1"), hangs],
            json!({"actions": {"u2": {"fail": "timeout"}, "u1~undo": [{"status": 500}, {"status": 200}]}}),
        ),
        case(
            "undoBranches",
            vec![branches],
            json!({"actions": {"by2": {"status": 404, "costMs": 100}, "bx~undo": {"status": 400}}}),
        ),
        case(
            "outer",
            vec![json!({"name": "child", "type": "workflow", "config": {"workflowName": "switch"}}), http(sink, "e1")],
            json!({"actions": {"w1": [{"status": 500}, {"status": 200}]}}),
        ),
    ]
}

/// Lets the receiver answer as mocked: the idempotency key says which action asks, the path which item.
fn answer_as_mocked(sink: &Sink, mocks: &Arc<Mutex<Value>>) {
    let (mocks, seen) = (mocks.clone(), Mutex::new(HashMap::<String, usize>::new()));
    sink.on("/", move |request, _| {
        let key = request.key().to_owned();
        let action = key.split_once('_').map_or("", |(_, action)| action).to_owned();
        let number = {
            let mut seen = seen.lock().expect("a lock");
            let number = seen.entry(key).or_insert(0);
            *number += 1;
            *number - 1
        };
        let index = request.path.rsplit_once("/one/").map_or("", |(_, index)| index);
        let mocks = mocks.lock().expect("a lock");
        let found = mocks["actions"].get(format!("{action}[{index}]")).or_else(|| mocks["actions"].get(&action));
        let reply = match found {
            Some(Value::Array(list)) => list.get(number).or_else(|| list.last()).cloned(),
            one => one.cloned(),
        };
        answer(&reply.unwrap_or_else(|| json!({"status": 200})))
    });
}

fn answer(reply: &Value) -> Answer {
    if reply["fail"] == "timeout" {
        return Answer::Hang;
    }
    let status = reply["status"].as_u64().expect("a status") as u16;
    let body = reply.get("body").map(Value::to_string).unwrap_or_default();
    let pause = Duration::from_millis(reply["costMs"].as_u64().unwrap_or_default());
    Answer::body(status, "application/json", &body).after(pause)
}

/// What became of each instance: path, attempts, status, code and result.
type Tale = Vec<(String, String, String, String, String)>;

const REAL: &str = "with recursive tree as (\
     select i.instance_id, i.workflow_name as path from rea.work_instance i \
     where i.biz_key = $1 and i.parent_instance_id is null \
     union all \
     select c.instance_id, t.path || '/' || c.parent_action || case \
         when c.branch = c.item_index::text then '[' || c.branch || ']' \
         when c.branch is not null then '.' || c.branch else '' end \
     from tree t join rea.work_instance c on c.parent_instance_id = t.instance_id) \
 select t.path, (select coalesce(string_agg(concat_ws(' ', l.action_name, l.attempt_no, l.status, \
                                 nullif(l.error_code, 'skipped')), ', ' order by l.log_id), '') \
                 from rea.work_action_log l where l.instance_id = t.instance_id), \
        i.status, coalesce(i.error_code, ''), coalesce(i.result::text, '') \
 from tree t join rea.work_instance i using (instance_id) order by 1";

const SIMULATED: &str = "select s.path, \
        coalesce(string_agg(concat_ws(' ', s.subject, s.attempt_no, s.status, s.error_code), ', ' order by s.ordinality) \
                 filter (where s.kind = 'attempt'), ''), \
        (array_agg(s.status order by s.ordinality desc) filter (where s.kind = 'status'))[1], \
        coalesce((array_agg(s.error_code order by s.ordinality desc) filter (where s.kind = 'status' and s.status <> 'PAUSED'))[1], ''), \
        coalesce((array_agg(s.output::text order by s.ordinality desc) filter (where s.kind = 'status'))[1], '') \
 from rea.simulate($1::text, $2::text::jsonb, $3::text::jsonb) with ordinality s group by 1 order by 1";

fn tale(rows: &[postgres::Row]) -> Tale {
    let text = |row: &postgres::Row, column: usize| row.get::<_, Option<String>>(column).unwrap_or_default();
    rows.iter().map(|row| (text(row, 0), text(row, 1), text(row, 2), text(row, 3), text(row, 4))).collect()
}

fn payload() -> Value {
    json!({"n": 1, "list": ["a", "b", "c", "d"]})
}

fn really(client: &mut Client, case: &Case) -> Tale {
    fire(client, case.name, case.name, &payload());
    for event in case.mocks["events"].as_array().into_iter().flatten() {
        let event_type = event["event_type"].as_str().expect("a type");
        let awaited = format!(
            "select count(*) from rea.work_wait w join rea.work_instance i using (instance_id) \
             where i.biz_key = '{}' and w.event_type = '{event_type}'",
            case.name
        );
        wait_until(PATIENCE, &format!("{} waits for {event_type}", case.name), || count(client, &awaited) > 0);
        fire(client, event_type, case.name, &json!({}));
    }
    let live = format!(
        "select count(*) filter (where i.end_time is null and i.status <> 'PAUSED') + (count(*) = 0)::integer \
         from rea.work_instance i where i.biz_key = '{}'",
        case.name
    );
    wait_until(PATIENCE, &format!("{} is over", case.name), || count(client, &live) == 0);
    let mut tale = tale(&client.query(REAL, &[&case.name]).expect("work_instance"));
    for instance in tale.iter_mut().filter(|instance| instance.2 == "PAUSED") {
        instance.3.clear();
    }
    tale
}

fn simulated(client: &mut Client, case: &Case) -> Tale {
    let event = json!({"event_type": case.name, "biz_key": case.name, "payload": payload()});
    let rows = client.query(SIMULATED, &[&case.name, &event.to_string(), &case.mocks.to_string()]);
    tale(&rows.unwrap_or_else(|error| panic!("{}: {error:?}", case.name)))
}

#[test]
fn a_simulation_makes_the_attempts_that_the_worker_makes() {
    let mut scene = Scene::open();
    let mocks = Arc::new(Mutex::new(Value::Null));
    answer_as_mocked(&scene.sink, &mocks);
    let sink = &scene.sink;
    let cases = [serial_cases(sink), branching_cases(sink), waiting_cases(sink), undoing_cases(sink)];
    for case in cases.iter().flatten() {
        define(&mut scene.client, &case.workflow);
        *mocks.lock().expect("a lock") = case.mocks.clone();
        let real = really(&mut scene.client, case);
        assert_eq!(simulated(&mut scene.client, case), real, "{}: simulated on the left", case.name);
    }
}

#[test]
fn a_simulation_shows_the_bytes_that_are_sent_and_stores_nothing() {
    let mut scene = Scene::open();
    let mut action = http(&scene.sink, "told");
    action["config"]["headers"] = json!({"X-Key": "${event.bizKey}"});
    action["config"]["body"] = json!({"amount": "${payload.amount}", "id": "${event.id}", "at": "${event.time}"});
    scene.define("shown", vec![action]);
    let exported = "select e::text from rea.export_events('-infinity', 'infinity') e";
    let id = fire(&mut scene.client, "shown", "K 1", &json!({"amount": 1.50}));
    assert_eq!(scene.finish("K 1").status, "SUCCESS");
    let event: String = scene.client.query_one(exported, &[]).expect("one event").get(0);
    let rows = "select (select count(*) from rea.work_event) + (select count(*) from rea.work_instance) \
                + (select count(*) from rea.work_action_log)";
    let before = count(&mut scene.client, rows);
    let shown = scene
        .client
        .query_one(
            "select (s.request -> 'body')::text, s.request ->> 'url', s.request -> 'headers' ->> 'X-Key' \
             from rea.simulate('shownFlow', $1::text::jsonb) s where s.kind = 'attempt'",
            &[&event],
        )
        .expect("one attempt");
    let sent = &scene.sink.requests()[0];
    let body: Value = serde_json::from_str(shown.get(0)).expect("JSON");
    assert_eq!(body, sent.json());
    assert_eq!(body["id"], json!(id));
    assert_eq!(shown.get::<_, String>(1), scene.sink.url(&sent.path));
    assert_eq!(Some(shown.get::<_, &str>(2)), sent.header("x-key"));
    assert_eq!(count(&mut scene.client, rows), before);
}
