//! URLs: what may be stated, and that values stay where they are put.

use serde_json::{Value, json};

use super::{action, http, one, problems, with_config};
use crate::flow::address::Target;
use crate::flow::outcome::{Class, Failure};

/// Renders the URL of a configuration; every template gets the same value.
fn render(config: Value, value: &str) -> Result<Target, Failure> {
    let action = action(&with_config(config));
    let values = vec![one(value); action.paths.len()];
    http(&action).url.render(&http(&action).query, &values, &action.paths)
}

fn url(url: &str, value: &str) -> String {
    render(json!({"url": url}), value).unwrap_or_else(|failure| panic!("{url}: {failure:?}")).url
}

fn refused_value(url: &str, value: &str) {
    let failure = render(json!({"url": url}), value).expect_err(url);
    assert_eq!((failure.code.as_str(), failure.class), ("invalid_url", Class::Permanent), "{url} {value}");
}

#[test]
fn fixed_urls_are_normalised() {
    assert_eq!(url("HTTP://H.Test", ""), "http://h.test/");
    assert_eq!(url("http://h.test/a b?c=d e", ""), "http://h.test/a%20b?c=d%20e");
    assert_eq!(url("http://bücher.test/ü", ""), "http://xn--bcher-kva.test/%C3%BC");
    assert_eq!(url("http://h.test/a/../b", ""), "http://h.test/b");
}

#[test]
fn bad_urls_are_refused_with_a_reason() {
    let cases = [
        ("", "absolute"),
        ("h.test/x", "absolute"),
        ("/x", "absolute"),
        ("ftp://h/", "absolute"),
        ("http:h/", "absolute"),
        ("http:///h/", "absolute"),
        ("http://user:pw@h/", "user name"),
        ("http://@h/", "user name"),
        ("http://h/#top", "fragment"),
        ("http://h\\@evil/", "backslash"),
        ("http://h/\n", "control"),
        ("http://h:99999/", "not valid"),
        ("http://a b/", "not valid"),
        ("http://[::1/", "not valid"),
        ("${payload.base}/x", "scheme, host or port"),
        ("http://${payload.host}/x", "scheme, host or port"),
        ("http://h.${payload.tld}/x", "scheme, host or port"),
        ("http://h${payload.path}", "scheme, host or port"),
        ("http://h:${payload.port}/x", "scheme, host or port"),
        ("http:///${payload.host}/x", "scheme, host or port"),
        ("http://h/${payload.x}#y", "fragment"),
        ("http://h/../${payload.x}", "\"..\""),
        (" ${payload.url}", "scheme, host or port"),
    ];
    for (url, words) in cases {
        let found = problems(&with_config(json!({"url": url})));
        let [problem] = found.as_slice() else { panic!("{url}: {found:?}") };
        assert_eq!((problem.code, problem.pointer.as_str()), ("invalid_url", "/actions/0/config/url"));
        assert!(problem.message.contains(words), "{url}: {}", problem.message);
    }
}

#[test]
fn values_are_percent_encoded_into_one_segment() {
    let at = |value| url("http://h.test/a/${payload.x}/b", value);
    assert_eq!(at("\"x y/z?q#f&=+%\""), "http://h.test/a/x%20y%2Fz%3Fq%23f%26%3D%2B%25/b");
    assert_eq!(at("\"ü😀\\n\\\\@:\""), "http://h.test/a/%C3%BC%F0%9F%98%80%0A%5C%40%3A/b");
    assert_eq!(at("\"A-z_0.~\""), "http://h.test/a/A-z_0.~/b");
    assert_eq!(at("12.50"), "http://h.test/a/12.50/b");
    assert_eq!(at("\"\""), "http://h.test/a//b");
}

#[test]
fn a_value_cannot_become_a_dot_segment() {
    for value in ["\"..\"", "\".\""] {
        refused_value("http://h.test/a/${payload.x}/b", value);
        refused_value("http://h.test/a/${payload.x}?q", value);
        refused_value("http://h.test/${payload.x}", value);
    }
    refused_value("http://h.test/.${payload.x}/b", "\".\"");
    refused_value("http://h.test/%2e${payload.x}/b", "\".\"");
    refused_value("http://h.test/%2E%${payload.x}/b", "\"2e\"");
    assert_eq!(url("http://h.test/${payload.x}", "\"...\""), "http://h.test/...");
    assert_eq!(url("http://h.test/a?q=${payload.x}", "\"..\""), "http://h.test/a?q=..");
    assert_eq!(url("http://h.test/${payload.x}", "\"../../x\""), "http://h.test/..%2F..%2Fx");
}

#[test]
fn query_parameters_are_appended_encoded_and_in_order() {
    let query = json!({"a b": "${payload.x}", "n": 1.10, "t": true, "e": ""});
    let target = |url: &str| render(json!({"url": url, "query": query}), "\"x&y=z ü\"").unwrap().url;
    let expected = "a%20b=x%26y%3Dz%20%C3%BC&n=1.1&t=true&e=";
    assert_eq!(target("http://h.test/p"), format!("http://h.test/p?{expected}"));
    assert_eq!(target("http://h.test/p?k=v"), format!("http://h.test/p?k=v&{expected}"));
    assert_eq!(target("http://h.test/p?"), format!("http://h.test/p?{expected}"));
    assert_eq!(target("http://h.test/p?k=v&"), format!("http://h.test/p?k=v&{expected}"));
}

#[test]
fn a_url_that_is_one_template_may_be_any_web_address() {
    let whole = |value| render(json!({"url": "${event.attributes.callback}", "query": {"q": "1"}}), value);
    let target = whole("\"https://other.test:8443/a?b=c#frag\"").unwrap();
    assert_eq!(target.url, "https://other.test:8443/a?b=c&q=1");
    assert_eq!(target.origin, "https://other.test:8443");
    let refused = [
        "7",
        "null",
        "{\"a\": 1}",
        "\"\"",
        "\"file:///etc/passwd\"",
        "\"http://user@h/\"",
        "\"http://h\\\\@evil/\"",
        "\"http://h/\\n\"",
        "\" http://h/\"",
        "\"javascript:alert(1)\"",
        "\"//h/x\"",
    ];
    for value in refused {
        let failure = whole(value).expect_err(value);
        assert_eq!((failure.code.as_str(), failure.class), ("invalid_url", Class::Permanent), "{value}");
    }
}

#[test]
fn a_url_of_too_many_bytes_is_refused() {
    let long = format!("\"{}\"", "x".repeat(100_000));
    refused_value("http://h.test/${payload.x}", &long);
    let failure = render(json!({"query": {"q": "${payload.x}"}}), &long).expect_err("too long");
    assert_eq!(failure.code, "invalid_url");
}

#[test]
fn failures_do_not_repeat_the_value() {
    let failure =
        render(json!({"url": "${event.attributes.callback}"}), "\"http://user:s3cret@h/\"").expect_err("user");
    assert!(!failure.message.contains("s3cret"), "{}", failure.message);
}
