//! Calls in the database as they are rendered.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::flow::call::{Need, RenderedCall, arguments, need, render, summary};
use crate::flow::definition::Perform;
use crate::flow::outcome::Failure;
use crate::flow::perform::{MessageKind, Transport};
use crate::flow::request::Facts;

use super::{action, one, with_actions};

fn facts<'a>() -> Facts<'a> {
    Facts {
        instance_id: "I-1",
        event_id: "E-1",
        event_type: "order.created",
        correlation_id: Some("C \"1\""),
        causation_id: Some("before"),
        traceparent: None,
        span_id: 1,
        attempt_no: 3,
        key_no: 1,
        action_name: "a",
        payload: Arc::from("{\"n\": 1.10}"),
        version: "0.1.0",
    }
}

fn rendered(kind: &str, config: Value, values: &[&str], extra: Option<&str>) -> (Need, Result<RenderedCall, Failure>) {
    let definition = with_actions(json!([{"name": "a", "type": kind, "config": config}]));
    let action = action(&definition);
    let Perform::Local(local) = &action.perform else { panic!("{kind} is a call in the database") };
    let values: Vec<_> = values.iter().map(|value| one(value)).collect();
    (need(local), render(local, &action.paths, &values, extra, &facts()))
}

#[test]
fn arguments_keep_their_json_types() {
    let config = json!({"function": "app.f", "args": ["${payload.n}", "n ${payload.n}", {"x": null}, 1.5]});
    let (need, call) = rendered("local", config, &["1.10"], None);
    let args = Some(r#"[1.10,"n 1.10",{"x":null},1.5]"#.to_owned());
    assert_eq!(need, Need::Nothing);
    assert_eq!(
        call,
        Ok(RenderedCall::Function { schema: "app".into(), name: "f".into(), args: args.clone(), context: None })
    );
    assert_eq!(
        arguments(args.as_deref().unwrap_or_default()).unwrap_or_default(),
        ["1.10", "\"n 1.10\"", "{\"x\":null}", "1.5"]
    );
}

#[test]
fn without_arguments_the_whole_context_is_one() {
    let (need, call) = rendered("local", json!({"function": "app.f"}), &[], Some("{\"payload\":{}}"));
    let context = Some("{\"payload\":{}}".to_owned());
    assert_eq!(need, Need::Context);
    assert_eq!(call, Ok(RenderedCall::Function { schema: "app".into(), name: "f".into(), args: None, context }));
}

/// Golden: a change here changes what receivers of running instances see on a retry.
#[test]
fn the_envelope_is_pinned() {
    let config = json!({"transport": "notify", "topic": "orders", "kind": "command"});
    let (need, call) = rendered("message", config, &[], Some("\"2026-01-02T03:04:05+00:00\""));
    let envelope = concat!(
        r#"{"messageId":"I-1_a","operationId":"E-1","eventId":"E-1","correlationId":"C \"1\"","causationId":"E-1","#,
        r#""occurredAt":"2026-01-02T03:04:05+00:00","kind":"command","type":"order.created","payload":{"n": 1.10}}"#
    )
    .to_owned();
    assert_eq!(need, Need::EventTimeAndPayload);
    let (transport, kind) = (Transport::Notify, MessageKind::Command);
    let expected = RenderedCall::Message { transport, topic: "orders".into(), kind, envelope };
    assert_eq!(summary(&expected, 100), "notify orders command I-1_a");
    assert_eq!(summary(&expected, 6), "notify");
    assert_eq!(call, Ok(expected));
}

#[test]
fn a_topic_is_a_name_that_postgres_can_carry() {
    let code = |transport: &str, topic: &str| {
        let config = json!({"transport": transport, "topic": "${payload.t}", "payload": 1});
        rendered("message", config, &[&Value::from(topic).to_string()], None).1.err().map(|failure| failure.code)
    };
    assert_eq!(code("notify", &"x".repeat(63)), None);
    for topic in [String::new(), "x".repeat(64), "a\0b".to_owned()] {
        assert_eq!(code("notify", &topic).as_deref(), Some("invalid_topic"));
    }
    assert_eq!(code("pgmq", &"x".repeat(47)), None);
    assert_eq!(code("pgmq", &"x".repeat(48)).as_deref(), Some("invalid_topic"));
}
