//! What goes onto the wire, and what may not.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::sink::{Sink, header, ok};
use super::{engine, failed, get, reply, request};
use crate::action::{Request, TransportError, failure};

/// The text of one request as a receiver saw it.
fn seen(make: impl FnOnce(String) -> Request) -> String {
    let text = Arc::new(Mutex::new(String::new()));
    let copy = text.clone();
    let sink = Sink::new(move |mut peer| {
        while let Some(request) = peer.request() {
            *copy.lock().unwrap() = request;
            peer.say(ok("{}"));
        }
    });
    reply(engine().perform(&make(sink.url())));
    assert_eq!(sink.requests(), 1);
    text.lock().unwrap().clone()
}

#[test]
fn method_path_headers_and_body_arrive() {
    let text = seen(|url| Request {
        method: "PUT".into(),
        url: format!("{url}?a=1&b=%20#part"),
        headers: vec![("X-One".into(), "1".into()), ("X-Two".into(), "zwei \u{e4}".into())],
        body: Some("{\"n\": 1.50}".into()),
        ..request("")
    });
    assert!(text.starts_with("PUT /path?a=1&b=%20 HTTP/1.1\r\n"), "{text}");
    assert!(text.ends_with("\r\n\r\n{\"n\": 1.50}"), "{text}");
    assert_eq!(header(&text, "x-one"), Some("1"));
    assert_eq!(header(&text, "x-two"), Some("zwei \u{e4}"));
    assert_eq!(header(&text, "content-length"), Some("11"));
    assert_eq!(header(&text, "accept-encoding"), Some("gzip"));
    assert!(header(&text, "user-agent").unwrap().starts_with("rea/"));
    assert!(header(&text, "host").unwrap().starts_with("127.0.0.1:"));
    assert_eq!(header(&text, "expect"), None);
    assert_eq!(header(&text, "transfer-encoding"), None);
}

#[test]
fn headers_of_the_caller_replace_the_defaults() {
    let headers = vec![("User-Agent".into(), "mine".into()), ("Host".into(), "other".into())];
    let text = seen(|url| Request { headers, ..request(url) });
    assert_eq!(header(&text, "user-agent"), Some("mine"));
    assert_eq!(header(&text, "host"), Some("other"));
    assert_eq!(text.matches("user-agent").count(), 1);
}

#[test]
fn a_post_without_body_says_so() {
    let text = seen(|url| Request { body: None, ..request(url) });
    assert_eq!(header(&text, "content-length"), Some("0"));
}

#[test]
fn a_get_without_body_has_no_length() {
    let text = seen(get);
    assert!(text.starts_with("GET "), "{text}");
    assert_eq!(header(&text, "content-length"), None);
}

#[test]
fn a_body_goes_with_any_method() {
    for method in ["GET", "DELETE", "PROPFIND"] {
        let text = seen(|url| Request { method: method.into(), ..request(url) });
        assert!(text.starts_with(method) && text.ends_with("{\"n\":1}"), "{text}");
    }
}

#[test]
fn a_large_body_arrives_whole() {
    let body: String = (0..400_000).map(|n| char::from(b'a' + (n % 26) as u8)).collect();
    let text = seen(|url| Request { body: Some(body.as_str().into()), ..request(url) });
    assert!(text.ends_with(&body));
}

#[test]
fn many_headers_arrive() {
    let headers = (0..60).map(|n| (format!("x-header-{n}"), "v".repeat(1000))).collect::<Vec<_>>();
    let text = seen(|url| Request { headers, ..request(url) });
    assert_eq!(text.matches("x-header-").count(), 60);
    assert!(text.ends_with("{\"n\":1}"));
}

#[test]
fn what_may_not_be_sent_is_refused_before_anything_is_done() {
    let long = "x".repeat(16 * 1024);
    let with = |name: &str, value: &str| Request {
        headers: vec![(name.into(), value.into())],
        ..request("http://127.0.0.1:1/")
    };
    for (bad, wanted) in [
        (with("x-a", "one\r\nx-b: two"), "header \"x-a\" has a value with control characters"),
        (with("x-a", "nul\0"), "header \"x-a\" has a value with control characters"),
        (with("x a", "v"), "header \"x a\" has an invalid name"),
        (with("x:a", "v"), "header \"x:a\" has an invalid name"),
        (with("", "v"), "header \"\" has an invalid name"),
        (with("x-a", &long), "header \"x-a\" is over 15 kB"),
        (with("Content-Length", "3"), "header \"Content-Length\" is set by the engine alone"),
        (with("transfer-encoding", "chunked"), "header \"transfer-encoding\" is set by the engine alone"),
        (with("Expect", "100-continue"), "header \"Expect\" is set by the engine alone"),
        (Request { method: "CONNECT".into(), ..request("http://h/") }, "the method is not allowed"),
        (Request { method: "A B".into(), ..request("http://h/") }, "the method is not allowed"),
        (Request { method: "".into(), ..request("http://h/") }, "the method is not allowed"),
        (request("ftp://h/"), "the URL is neither http nor https"),
        (request("/path"), "the URL is neither http nor https"),
        (request("http://h/a b"), "the URL is not valid: invalid uri character"),
        (request(format!("http://h/{long}")), "the URL is over 15 kB"),
    ] {
        let failure = failed(engine().perform(&bad));
        assert_eq!((failure.kind, failure.message.as_str()), (TransportError::Request, wanted));
        assert!(!failure.sent);
    }
}

#[test]
fn strange_urls_are_refused_and_not_quoted() {
    for url in ["http://", "http:///secret", "http://user:secret@", "http://:80/secret", "secret"] {
        let failure = failed(engine().perform(&request(url)));
        assert_eq!(failure.kind, TransportError::Request, "{url}: {failure}");
        assert!(!failure.message.contains("secret"), "{failure}");
    }
}

#[test]
fn running_out_of_descriptors_is_a_fault_of_this_machine() {
    let error = std::io::Error::from_raw_os_error(libc::EMFILE);
    let failure = failure::from_ureq(error.into(), Duration::from_secs(1));
    assert_eq!(failure.kind, TransportError::Local);
}

#[test]
fn secrets_never_reach_a_message() {
    let headers = vec![("authorization".into(), "Bearer S3CRET".into())];
    let secret = |url: String| Request {
        url: url.replace("http://", "http://S3CRET:S3CRET@") + "?token=S3CRET",
        headers: headers.clone(),
        body: Some("S3CRET".into()),
        ..request("")
    };
    let garbage = Sink::closing_after("S3CRET\r\n\r\n");
    let closing = Sink::closing_after("");
    for url in [garbage.url(), closing.url(), "http://127.0.0.1:1/".into(), "http://x.invalid/".into()] {
        let failure = failed(engine().perform(&secret(url)));
        assert!(!format!("{failure:?}").contains("S3CRET"), "{failure:?}");
    }
}
