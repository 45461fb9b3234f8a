//! Splitting, compiling and rendering templates.

use serde_json::{Value, json};

use super::{action, http, none, one, with_config};
use crate::flow::definition::Body;
use crate::flow::expression::PathValue;
use crate::flow::outcome::{Class, Failure};
use crate::flow::template::{Part, render_json, split};

/// Renders a JSON body with these values, in the order of its templates.
fn render(body: Value, values: &[PathValue]) -> Result<String, Failure> {
    let action = action(&with_config(json!({"body": body})));
    let Body::Json(template) = &http(&action).body else { panic!("a JSON body") };
    render_json(template, values, &action.paths)
}

fn rendered(body: Value, values: &[PathValue]) -> String {
    render(body, values).unwrap_or_else(|failure| panic!("{failure:?}"))
}

fn code(body: Value, values: &[PathValue]) -> String {
    let failure = render(body, values).expect_err("rendering fails");
    assert_eq!(failure.class, Class::Permanent);
    failure.code
}

#[test]
fn strings_are_split_into_literals_and_templates() {
    let literal = |text: &str| Part::Literal(text.to_owned());
    assert_eq!(split("a ${b} c"), Ok(vec![literal("a "), Part::Template("b"), literal(" c")]));
    assert_eq!(split("${a}${b}"), Ok(vec![Part::Template("a"), Part::Template("b")]));
    assert_eq!(split(""), Ok(vec![literal("")]));
    assert_eq!(split("cost: $5, $$ and {x}"), Ok(vec![literal("cost: $5, $$ and {x}")]));
    assert_eq!(split("$${a}"), Ok(vec![literal("${a}")]));
    assert_eq!(split("$${${a}}"), Ok(vec![literal("${"), Part::Template("a"), literal("}")]));
    assert_eq!(split("ä${ü}ö$"), Ok(vec![literal("ä"), Part::Template("ü"), literal("ö$")]));
    assert!(split("a ${b").is_err_and(|error| error.to_string().contains("${b")));
}

#[test]
fn a_string_that_is_one_template_keeps_the_type() {
    for value in ["1", "1.10", "12345678901234567890123.4500", "true", "null", "\"a\\nb\"", "{\"a\": [1, 2]}", "[]"] {
        assert_eq!(rendered(json!({"x": "${payload.x}"}), &[one(value)]), format!("{{\"x\":{value}}}"));
    }
}

#[test]
fn inside_longer_text_strings_are_as_they_are_and_others_are_json() {
    let body = json!("<${payload.x}>");
    let cases = [
        (r#""a""#, "<a>"),
        (r#""say \"hi\" \\ \n \u0001""#, "<say \"hi\" \\ \n \u{1}>"),
        ("1.10", "<1.10>"),
        ("null", "<null>"),
        (r#"{"a": "b\n"}"#, r#"<{"a": "b\n"}>"#),
        (r#""</script> ' & 😀 ‏{{ 7*7 }} ${payload.y}""#, "<</script> ' & 😀 ‏{{ 7*7 }} ${payload.y}>"),
    ];
    for (value, text) in cases {
        let json = rendered(body.clone(), &[one(value)]);
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text, "{json}");
    }
}

#[test]
fn fixed_parts_are_escaped_for_json() {
    let json = rendered(json!({"k\"\n": "a\"\\\n${payload.x}\u{2028}$${y}"}), &[one("1")]);
    let parsed: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(parsed, json!({"k\"\n": "a\"\\\n1\u{2028}${y}"}));
}

#[test]
fn what_holds_no_template_is_kept_with_its_digits_and_order() {
    let written = r#"{"z":1.10,"a":[true,null,{"n":123456789012345678901234567890}],"e":""}"#;
    let body: Value = serde_json::from_str(written).unwrap();
    assert_eq!(rendered(body, &[]), written);
}

#[test]
fn a_missing_value_fails_and_names_its_template() {
    let failure = render(json!(["x ${payload.id} y"]), &[none()]).expect_err("nothing there");
    assert_eq!((failure.code.as_str(), failure.class), ("missing_value", Class::Permanent));
    assert_eq!(failure.message, "${payload.id} has no value");
}

#[test]
fn a_default_stands_for_missing_and_null_only() {
    let body = json!(["${payload.x ?? \"none\"}"]);
    assert_eq!(rendered(body.clone(), &[none()]), "[\"none\"]");
    assert_eq!(rendered(body.clone(), &[one("null")]), "[\"none\"]");
    for kept in ["false", "0", "\"\"", "[]", "\"null\""] {
        assert_eq!(rendered(body.clone(), &[one(kept)]), format!("[{kept}]"));
    }
    assert_eq!(rendered(json!("a ${payload.x ?? \"b\\n\"}"), &[none()]), "\"a b\\n\"");
    assert_eq!(rendered(json!("a ${payload.x ?? 1.10}"), &[none()]), "\"a 1.10\"");
}

#[test]
fn null_without_a_default_stays_null() {
    assert_eq!(rendered(json!(["${payload.x}"]), &[one("null")]), "[null]");
}

#[test]
fn two_values_where_one_is_meant_fail() {
    let two = PathValue { count: 2, text: Some("1".to_owned()) };
    assert_eq!(code(json!(["${payload.items.sku}"]), std::slice::from_ref(&two)), "many_values");
    assert_eq!(code(json!(["${payload.items.sku ?? 1}"]), &[two]), "many_values");
}

#[test]
fn a_path_for_many_gives_an_array_even_of_none() {
    let body = json!({"skus": "${payload.items[*].sku}"});
    let three = PathValue { count: 3, text: Some("[1, \"b\", null]".to_owned()) };
    assert_eq!(rendered(body.clone(), &[three]), "{\"skus\":[1, \"b\", null]}");
    assert_eq!(rendered(body.clone(), &[none()]), "{\"skus\":[]}");
    let array = PathValue { count: 1, text: Some("[7]".to_owned()) };
    assert_eq!(rendered(body, &[array]), "{\"skus\":[7]}");
}

#[test]
fn a_value_that_was_not_computed_is_a_failure_and_no_panic() {
    assert_eq!(code(json!(["${payload.x}"]), &[]), "expression");
}

#[test]
fn a_value_of_a_megabyte_is_spliced_whole() {
    let value = format!("\"{}\"", "x\\n".repeat(300_000));
    assert_eq!(rendered(json!(["${payload.x}"]), &[one(&value)]), format!("[{value}]"));
}

#[test]
fn output_is_rendered_like_a_body() {
    let definition =
        super::with_envelope(json!({"output": {"id": "${response.body.id}", "status": "${response.status}"}}));
    let action = action(&definition);
    let output = action.output.as_ref().unwrap();
    let json = render_json(output, &[one("7"), one("200")], &action.output_paths).unwrap();
    assert_eq!(json, "{\"id\":7,\"status\":200}");
}
