//! Paths as written and as PostgreSQL gets them.

use crate::flow::expression::{Expression, ExpressionError, predicate, references, template, template_end};

fn read(inside: &str) -> Expression {
    template(inside, "/x").unwrap_or_else(|error| panic!("{inside}: {error}"))
}

#[test]
fn a_context_name_gets_the_root_in_front() {
    let cases = [
        ("payload.sku", "$.payload.sku"),
        (" payload ", "$.payload"),
        ("payload[0]", "$.payload[0]"),
        ("index", "$.index"),
        ("payload.\"sku-code\"", "$.payload.\"sku-code\""),
        ("$.payload.sku", "$.payload.sku"),
        ("strict $.payload", "strict $.payload"),
        ("payload + 1", "payload + 1"),
        ("1 + 1", "1 + 1"),
        ("null", "null"),
        ("-$.payload.n", "-$.payload.n"),
        ("\"text\"", "\"text\""),
    ];
    for (written, path) in cases {
        assert_eq!(read(written).path, path, "{written}");
    }
}

#[test]
fn a_wildcard_or_a_filter_outside_quotes_means_many() {
    for many in [
        "payload.items[*].sku",
        "payload.items[ * ]",
        "payload.*",
        "payload.**.id",
        "payload.**{2}.id",
        "payload.items ? (@.n > 1)",
        "$.payload.items?(@ starts with \"x\")",
    ] {
        assert!(read(many).many, "{many}");
    }
    for one in ["payload.a", "$.payload.a * 2", "payload.\"[*]\"", "payload.\"a?\".b", "payload.\".*\"", "payload[0]"] {
        assert!(!read(one).many, "{one}");
    }
}

#[test]
fn a_default_is_split_off_outside_quotes_and_brackets() {
    let cases = [
        ("payload.x ?? \"none\"", "$.payload.x", Some("\"none\"")),
        ("payload.x??0", "$.payload.x", Some("0")),
        ("payload.x ?? {\"a\": [1.10]}", "$.payload.x", Some("{\"a\": [1.10]}")),
        ("payload.x ?? null", "$.payload.x", Some("null")),
        ("payload.x ?? \"a ?? b\"", "$.payload.x", Some("\"a ?? b\"")),
        ("payload.\"a ?? b\"", "$.payload.\"a ?? b\"", None),
        ("payload.x ? (@ == \"??\")", "$.payload.x ? (@ == \"??\")", None),
        ("payload.n ?? 12345678901234567890.10", "$.payload.n", Some("12345678901234567890.10")),
    ];
    for (written, path, default) in cases {
        let expression = read(written);
        assert_eq!((expression.path.as_str(), expression.default.as_deref()), (path, default), "{written}");
    }
}

#[test]
fn a_default_must_be_json() {
    for default in ["", "none", "'x'", "\"x", "1 2", "\"\\ud800\"", "NaN", "?? 1"] {
        let error = template(&format!("payload.x ?? {default}"), "");
        assert_eq!(error.map_err(|error| error.code()).map(|_| ()), Err("invalid_default"), "{default}");
    }
}

#[test]
fn variables_are_refused_outside_quotes_only() {
    for (path, name) in [("$x", "x"), ("$.payload[$n]", "n"), ("$.a ? (@ > $\"my var\")", "my var"), ("$ünï", "ünï")]
    {
        assert_eq!(template(path, ""), Err(ExpressionError::Variable(name.to_owned())), "{path}");
        let compared = format!("{path} > 1");
        assert_eq!(predicate(&compared, ""), Err(ExpressionError::Variable(name.to_owned())), "{compared}");
    }
    for path in ["$", "$.payload", "$[0]", "$ .payload", "$.payload.\"$x\"", "$.payload ? (@ == \"$x\")", "$**"] {
        assert!(template(path, "").is_ok(), "{path}");
    }
}

#[test]
fn a_predicate_keeps_its_text_and_gives_one_value() {
    let read = predicate("payload.items[*].n > 1", "/p").unwrap();
    assert_eq!((read.path.as_str(), read.many, read.predicate), ("$.payload.items[*].n > 1", false, true));
    assert_eq!(read.pointer, "/p");
}

#[test]
fn a_predicate_has_to_compare_or_test_something() {
    for good in [
        "payload.n > 1",
        "$.payload.a == \"x\" && !($.payload.b <> 2)",
        "exists($.payload.items[*] ? (@.n > 1))",
        "exists ($.payload.x)",
        "$.payload.a like_regex \"^x\"",
        "payload.a starts with \"x\"",
        "($.payload.n > 1) is unknown",
        "$.payload.items ? (@.ok).n != 1",
    ] {
        assert!(predicate(good, "").is_ok(), "{good}");
    }
    for value in [
        "payload.vip",
        "$.payload.items[*] ? (@.n > 1)",
        "$.payload.items?  ((@.n > 1) && (@.m > 1)).n",
        "$.payload.n + 1",
        "$.payload.\"a == b\"",
        "$.payload.exists",
        "true",
    ] {
        assert_eq!(predicate(value, ""), Err(ExpressionError::NotPredicate), "{value}");
    }
}

#[test]
fn members_named_after_a_root_are_seen() {
    let named = |path: &str| references(path).iter().map(|names| names.join("/")).collect::<Vec<_>>();
    assert_eq!(named("$.steps.a.output"), ["steps/a/output"]);
    assert_eq!(named("$ . steps . \"a\".output[0].x"), ["steps/a/output"]);
    assert_eq!(named("$.steps.*.status"), ["steps"]);
    assert_eq!(named("$.payload.size()"), ["payload"]);
    assert_eq!(named("$.payload.n > $.event.id"), ["payload/n", "event/id"]);
    assert_eq!(named("$.payload ? (@.a == \"$.steps.x\")"), ["payload"]);
    assert_eq!(named("$.\"a\\u0062\""), ["ab"]);
    assert_eq!(named("$"), [""]);
}

#[test]
fn a_template_ends_at_the_first_brace_that_is_its_own() {
    for (text, inside) in [
        ("payload.x} }", "payload.x"),
        ("payload.\"}\"}", "payload.\"}\""),
        ("payload.\"\\\"}\"}", "payload.\"\\\"}\""),
        ("payload.**{2 to 3}.x}", "payload.**{2 to 3}.x"),
        ("payload.x ?? {\"a\": {}}}", "payload.x ?? {\"a\": {}}"),
        ("}", ""),
    ] {
        assert_eq!(template_end(text).map(|end| &text[..end]), Some(inside), "{text}");
    }
    for text in ["", "payload.x", "payload.\"x}", "{}"] {
        assert_eq!(template_end(text), None, "{text}");
    }
}
