//! Odd, wrong and oversized answers; redirects (B49, B51, B53).

use super::sink::{Sink, ok};
use super::{engine, failed, reply, request};
use crate::action::{TransportError, TransportFailure};

#[track_caller]
fn accepted(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> crate::action::Reply {
    let sink = Sink::closing_after(bytes);
    let reply = reply(engine().perform(&request(sink.url())));
    assert_eq!(sink.requests(), 1);
    reply
}

#[track_caller]
fn malformed(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> TransportFailure {
    let sink = Sink::closing_after(bytes);
    let failure = failed(engine().perform(&request(sink.url())));
    assert_eq!(failure.kind, TransportError::Malformed, "{failure}");
    assert_eq!(sink.requests(), 1);
    failure
}

#[test]
fn cosmetic_oddities_are_accepted() {
    for (oddity, head) in [
        ("no reason", &b"HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok"[..]),
        ("empty reason", b"HTTP/1.1 200 \r\ncontent-length: 2\r\n\r\nok"),
        ("latin-1 reason", b"HTTP/1.1 200 D\xe9j\xe0\r\ncontent-length: 2\r\n\r\nok"),
        ("latin-1 header", b"HTTP/1.1 200 OK\r\nx-a: caf\xe9\r\ncontent-length: 2\r\n\r\nok"),
        ("header without value", b"HTTP/1.1 200 OK\r\nx-a:\r\ncontent-length: 2\r\n\r\nok"),
        ("bare line feeds", b"HTTP/1.1 200 OK\ncontent-length: 2\n\nok"),
        ("HTTP/1.0", b"HTTP/1.0 200 OK\r\n\r\nok"),
        ("HTTP/1.0 with length", b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok"),
        ("twice the same length", b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok"),
        ("lower case chunked", b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
        ("early hints", b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 102 P\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"),
        ("unasked continue", b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"),
    ] {
        let reply = accepted(head);
        assert_eq!((reply.status, reply.body.as_slice()), (200, &b"ok"[..]), "{oddity}");
    }
}

#[test]
fn every_three_digit_status_from_200_on_is_a_reply() {
    for status in [200, 299, 404, 500, 599, 600, 999] {
        let reply = accepted(format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n"));
        assert_eq!(reply.status, status);
    }
}

#[test]
fn what_is_not_http_is_malformed_and_says_why() {
    for garbage in [
        "HTTP/1.1 000 X\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 099 X\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 20 X\r\n\r\n",
        "HTTP/3.7 200 OK\r\n\r\n",
        "220 mail.example.com ESMTP ready\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok",
        "HTTP/1.1 200 OK\r\ncontent-length: two\r\n\r\nok",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nok\r\n0\r\n\r\n",
    ] {
        let failure = malformed(garbage);
        assert!(failure.message.starts_with("response is not valid HTTP: "), "{failure}");
        assert!(failure.message.len() < 200, "{failure}");
    }
}

#[test]
fn a_binary_greeting_is_malformed() {
    malformed(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x80");
}

#[test]
fn ten_thousand_headers_are_malformed() {
    let failure = malformed(format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(10_000)));
    assert_eq!(failure.message, "response is not valid HTTP: more than 128 header lines");
}

#[test]
fn a_header_of_a_megabyte_is_malformed() {
    let failure = malformed(format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(1 << 20)));
    assert_eq!(failure.message, "response headers are over 32 kB");
}

#[test]
fn headers_of_thirty_kilobytes_are_accepted() {
    let lines = "x: ".to_owned() + &"y".repeat(15_000) + "\r\n";
    let reply = accepted(super::sink::with_headers(&lines.repeat(2), "ok"));
    assert_eq!(reply.body, b"ok");
}

#[test]
fn header_names_come_in_lower_case_and_odd_bytes_as_replacement_characters() {
    let reply = accepted(b"HTTP/1.1 200 OK\r\nX-Tea: caf\xe9\r\nX-Tea: two\r\nContent-Length: 0\r\n\r\n");
    let tea: Vec<&str> = reply.headers.iter().filter(|(name, _)| name == "x-tea").map(|(_, v)| v.as_str()).collect();
    assert_eq!(tea, ["caf\u{fffd}", "two"]);
}

#[test]
fn redirects_are_replies_and_never_followed() {
    let target = Sink::answering(ok("stolen"));
    for status in [300, 301, 302, 303, 307, 308] {
        let elsewhere = target.url();
        for location in [elsewhere.as_str(), "/loop", "relative", "http://[bad", ""] {
            for body in ["", "moved"] {
                let length = body.len();
                let sink = Sink::answering(format!(
                    "HTTP/1.1 {status} X\r\nlocation: {location}\r\ncontent-length: {length}\r\n\r\n{body}"
                ));
                let reply = reply(engine().perform(&request(sink.url())));
                assert_eq!((reply.status, reply.body.len()), (status, length));
                assert_eq!(sink.requests(), 1);
            }
        }
        let reply = accepted(format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n"));
        assert_eq!(reply.status, status, "without location");
    }
    assert_eq!(target.connections(), 0);
}

#[test]
fn switching_protocols_is_a_reply_and_ends_the_connection() {
    let sink = Sink::new(|mut peer| {
        peer.request();
        peer.say("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n");
        peer.finish();
        peer.hang();
    });
    let engine = engine();
    let status = reply(engine.perform(&request(sink.url()))).status;
    assert_eq!((status, engine.idle_connections()), (101, 0));
}
