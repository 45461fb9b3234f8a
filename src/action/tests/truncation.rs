//! A response that did not arrive whole is never a success (B48).

use super::sink::{Peer, Sink, ok};
use super::{engine, failed, reply, request};
use crate::action::{TransportError, TransportFailure};

#[track_caller]
fn fails(kind: TransportError, script: impl Fn(Peer) + Send + Sync + 'static) -> TransportFailure {
    let sink = Sink::new(script);
    let failure = failed(engine().perform(&request(sink.url())));
    assert_eq!(failure.kind, kind, "{failure}");
    assert!(failure.sent);
    failure
}

#[test]
fn fewer_bytes_than_content_length_are_truncated() {
    let failure = fails(TransportError::Truncated, |mut peer| {
        peer.request();
        peer.say("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhello");
    });
    assert_eq!(failure.status, Some(200));
    assert_eq!(failure.message, "connection closed before the end of the response");
}

#[test]
fn chunks_without_the_last_one_are_truncated() {
    fails(TransportError::Truncated, |mut peer| {
        peer.request();
        peer.say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n");
    });
}

#[test]
fn a_chunk_that_breaks_off_is_truncated() {
    fails(TransportError::Truncated, |mut peer| {
        peer.request();
        peer.say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n50\r\nhello");
    });
}

#[test]
fn headers_that_break_off_are_truncated() {
    fails(TransportError::Truncated, |mut peer| {
        peer.request();
        peer.say("HTTP/1.1 200 OK\r\ncontent-le");
    });
}

#[test]
fn gzip_that_breaks_off_with_the_connection_is_truncated() {
    fails(TransportError::Truncated, |mut peer| {
        peer.request();
        peer.say("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 100\r\n\r\n\x1f");
    });
}

#[test]
fn a_reset_in_the_body_is_a_reset() {
    let failure = fails(TransportError::Reset, |mut peer| {
        peer.request();
        peer.say("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhello");
        std::thread::sleep(std::time::Duration::from_millis(50));
        peer.reset();
    });
    assert_eq!(failure.message, "connection reset by the receiver");
}

#[test]
fn a_reset_in_a_body_without_length_is_a_reset() {
    fails(TransportError::Reset, |mut peer| {
        peer.request();
        peer.say("HTTP/1.1 200 OK\r\n\r\nhello");
        std::thread::sleep(std::time::Duration::from_millis(50));
        peer.reset();
    });
}

#[test]
fn a_close_without_any_answer_is_a_reset() {
    let failure = fails(TransportError::Reset, |mut peer| {
        peer.request();
    });
    assert_eq!(failure.message, "connection closed without a response");
    assert!(!failure.reused_connection);
}

#[test]
fn a_body_without_length_ends_with_an_orderly_close() {
    let sink = Sink::closing_after("HTTP/1.1 200 OK\r\n\r\nhello");
    assert_eq!(reply(engine().perform(&request(sink.url()))).body, b"hello");
}

#[test]
fn a_whole_body_followed_by_a_reset_is_a_success() {
    let sink = Sink::new(|mut peer| {
        peer.request();
        peer.say(ok("whole"));
        peer.reset();
    });
    for _ in 0..20 {
        assert_eq!(reply(engine().perform(&request(sink.url()))).body, b"whole");
    }
}

#[test]
fn whole_chunks_followed_by_a_reset_are_a_success() {
    let sink = Sink::new(|mut peer| {
        peer.request();
        peer.say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nwhole\r\n0\r\n\r\n");
        peer.reset();
    });
    assert_eq!(reply(engine().perform(&request(sink.url()))).body, b"whole");
}
