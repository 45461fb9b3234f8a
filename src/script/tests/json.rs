//! Data goes through a script without a change of shape or value.

use super::super::exact;
use super::{ErrorCode, broken, broken_with, limits, returned, returned_with};
use proptest::prelude::*;

/// Equal as jsonb is: by value.
fn value(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn what_comes_in_goes_out() {
    for json in [
        "{}",
        "[]",
        "null",
        "[1,null,3]",
        "[null,null]",
        r#"{"1":"a"}"#,
        r#"{"a":[]}"#,
        "[[]]",
        "[{}]",
        "3",
        "true",
        "\"\"",
        r#"{"a":{"b":[[],{},null,[null]]}}"#,
        r#""\u00e4\n\"\\\u2028 \ud83d\ude00""#,
        "[false]",
        "0.1",
        "-17",
        "1e-9",
        "[[[]]]",
        r#"{"":1}"#,
        r#"{"a.b":{"c d":1}}"#,
        "123456789012345678901234567890",
        "0.1234567890123456789",
        "9007199254740993",
        "[12345678901234567890,1]",
    ] {
        assert_eq!(value(&returned_with("return ctx", json)), value(json), "{json}");
        assert_eq!(value(&returned_with("local t = {} t.x = ctx return t", json))["x"], value(json), "{json}");
    }
}

#[test]
fn a_member_may_have_any_name() {
    let name = r#"{"$serde_json::private::Number":"x"}"#;
    assert_eq!(returned_with("return ctx", name), name);
    assert_eq!(returned_with("return ctx", &name.replace('$', "\\u0024")), name);
}

#[test]
fn a_number_of_another_spelling_keeps_its_value() {
    for (given, back) in [("3.0", "3"), ("1.50", "1.5"), ("-0", "0"), ("1E2", "100"), ("0e9", "0")] {
        assert_eq!(returned_with("return ctx", given), back);
    }
    for exact_text in ["1.10000000000000000001", "1152921504606846976", "123456789012345678"] {
        assert_eq!(returned_with("return typeof(ctx)", exact_text), "\"rea.number\"", "{exact_text}");
        assert_eq!(returned_with("return tostring(ctx)", exact_text), format!("\"{exact_text}\""));
    }
    assert_eq!(returned_with("return ctx", "1e400"), "1e+400");
    assert_eq!(returned_with("return typeof(ctx)", "9007199254740992"), "\"number\"");
}

#[test]
fn an_exact_number_prints_compares_and_refuses_arithmetic() {
    let big = "123456789012345678901";
    assert_eq!(returned_with("return 'no ' .. ctx .. '!'", big), format!("\"no {big}!\""));
    assert_eq!(returned_with("return ctx == rea.number('123456789012345678901.0')", big), "true");
    assert_eq!(returned_with("return rea.number('7') == 7", big), "true");
    let (code, message) = broken_with("return ctx + 1", big, &limits());
    assert_eq!(code, ErrorCode::Error);
    assert!(message.contains("trial:1:") && message.contains("rea.number"), "{message}");
    assert!(broken("return rea.number('1 ')").1.contains("decimal number"));
    assert!(broken("return rea.number('0x10')").1.contains("decimal number"));
}

#[test]
fn copies_field_by_field_keep_their_shape() {
    let copy = "local function copy(v)
        if type(v) ~= 'table' then return v end
        local t = if #v > 0 or getmetatable(v) == false then rea.array({}) else {}
        for k, w in v do t[k] = copy(w) end
        return t
    end return copy(ctx)";
    for json in [r#"{"a":[1,null,{"b":[]}],"c":{},"d":[[],[]]}"#, "[null,null]", r#"{"1":1,"2":[2]}"#] {
        assert_eq!(value(&returned_with(copy, json)), value(json));
    }
}

#[test]
fn tables_become_arrays_and_objects_by_their_keys() {
    assert_eq!(returned("return {1, 2, {3}}"), "[1,2,[3]]");
    assert_eq!(returned("return {a = 1}"), r#"{"a":1}"#);
    assert_eq!(returned("return {}"), "{}");
    assert_eq!(
        returned("local t = {c = 1} t.a = {z = 1, y = 2} t.b = 3 return t"),
        r#"{"a":{"y":2,"z":1},"b":3,"c":1}"#
    );
    assert_eq!(returned("return rea.array({})"), "[]");
    assert_eq!(returned("return {rea.null}"), "[null]");
    assert_eq!(returned("return {a = rea.null, b = nil}"), r#"{"a":null}"#);
    assert_eq!(returned_with("table.remove(ctx) return ctx", "[1]"), "[]");
    assert_eq!(returned("return"), "null");
    assert_eq!(returned("return nil, 2"), "null");
    assert_eq!(returned("return 1e15 + 0.5"), "1000000000000000.5");
    assert_eq!(returned("return {1e300, 1e21, 2^53, -0.0, 1/3}"), "[1e300,1e21,9007199254740992,0,0.3333333333333333]");
}

#[test]
fn what_json_cannot_say_is_a_failure_that_names_the_place() {
    for (source, wanted) in [
        ("return 0/0", "NaN cannot be JSON"),
        ("return {a = {1, {b = 1/0}}}", "infinity cannot be JSON at .a[2].b"),
        ("return {f = print}", "a function cannot be JSON at .f"),
        ("return {1, 2, x = 3}", "neither an array"),
        (
            "return {a = {[1] = 1, [3] = 3}}",
            "neither an array with the keys 1 to n nor an object with strings as keys at .a",
        ),
        ("return {[2] = 1}", "neither an array"),
        ("return rea.number('1e99999')", "out of the range of numeric"),
        ("return {[true] = 1}", "a boolean cannot be a key"),
        ("local t = {} t.t = t return t", "in a circle at .t.t"),
        ("return {s = 'a\\xff'}", "not valid UTF-8 at .s"),
        ("return {s = 'a\\0'}", "NUL character, which jsonb cannot at .s"),
        ("return {['a\\xff'] = 1}", "not valid UTF-8"),
        ("return coroutine.create(print)", "a thread cannot be JSON"),
        ("return buffer.create(3)", "a buffer cannot be JSON"),
        ("return string.rep('x', 2000000)", "larger than 1048576 bytes"),
        ("local t = {} for i = 1, 60 do t = {t, t} end return t", "larger than 1048576 bytes"),
        ("local t = rea.array({}) t[2] = 1 return t", "neither an array"),
    ] {
        let (code, message) = broken(source);
        assert_eq!(code, ErrorCode::Output, "{source}: {message}");
        assert!(message.contains(wanted), "{source}: {message}");
    }
}

#[test]
fn depth_is_bounded_both_ways() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(returned_with("return ctx", &nested(500)), nested(500));
    let (code, message) = broken_with("return ctx", &nested(501), &limits());
    assert_eq!(code, ErrorCode::Input);
    assert!(message.contains("nested deeper than 500 levels"), "{message}");
    assert_eq!(broken_with("return 1", &nested(100_000), &limits()).0, ErrorCode::Input);
    assert_eq!(broken("local t = {} for i = 1, 500 do t = {t} end return t").0, ErrorCode::Output);
}

#[test]
fn metatables_are_not_asked() {
    let evil = "return setmetatable({a = 1}, {__index = error, __len = error, __iter = error, __tostring = error})";
    assert_eq!(returned(evil), r#"{"a":1}"#);
}

#[test]
fn json_can_be_read_and_written_by_the_script() {
    assert_eq!(returned("return rea.json.encode({a = {1, rea.null}})"), r#""{\"a\":[1,null]}""#);
    assert_eq!(returned("return rea.json.decode('[1, {\"a\": null}]')"), r#"[1,{"a":null}]"#);
    assert!(broken("rea.json.decode('[1')").1.contains("trial:1: text is no JSON"));
    assert_eq!(returned("return (pcall(rea.json.decode, '{'))"), "false");
}

proptest! {
    #[test]
    fn every_decimal_keeps_its_value(whole in "[0-9]{1,25}", fraction in "(\\.[0-9]{1,25})?", exponent in "(e-?[0-9]{1,2})?") {
        let whole = whole.trim_start_matches('0');
        let text = format!("{}{fraction}{exponent}", if whole.is_empty() { "0" } else { whole });
        let back = returned_with("return ctx", &text);
        prop_assert!(exact::same_value(&text, &back), "{} became {}", text, back);
    }

    #[test]
    fn every_float_comes_out_as_it_is(number in any::<f64>().prop_filter("finite", |n| n.is_finite())) {
        let text = exact::text_of(number);
        prop_assert_eq!(exact::as_f64(&text), Some(number + 0.0));
    }
}
