//! The timeout covers the whole attempt, whatever trickles (B47).

use std::thread;
use std::time::{Duration, Instant};

use super::sink::{Peer, Sink, ok};
use super::{engine, failed, reply, request};
use crate::action::{Request, TransportError, TransportFailure};

const TIMEOUT: Duration = Duration::from_millis(400);
const SLACK: Duration = Duration::from_secs(2);

#[track_caller]
fn times_out(script: impl Fn(Peer) + Send + Sync + 'static) -> TransportFailure {
    let sink = Sink::new(script);
    expires(Request { timeout: TIMEOUT, ..request(sink.url()) })
}

#[track_caller]
fn expires(request: Request) -> TransportFailure {
    let from = Instant::now();
    let failure = failed(engine().perform(&request));
    let elapsed = from.elapsed();
    assert_eq!(failure.kind, TransportError::Timeout, "{failure}");
    assert!(elapsed >= TIMEOUT - Duration::from_millis(5), "too early: {elapsed:?}");
    assert!(elapsed < TIMEOUT + SLACK, "too late: {elapsed:?}");
    failure
}

#[test]
fn dripping_headers_do_not_stretch_the_timeout() {
    let failure = times_out(|mut peer| {
        peer.request();
        peer.drip("HTTP/1.1 200 OK\r\nx: ".repeat(100), Duration::from_millis(50));
    });
    assert_eq!(failure.message, "timed out after 400 ms while waiting for the response headers");
    assert!(failure.sent);
    assert_eq!(failure.status, None);
}

#[test]
fn dripping_body_does_not_stretch_the_timeout() {
    let failure = times_out(|mut peer| {
        peer.request();
        peer.say("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n");
        peer.drip([b'x'; 1000], Duration::from_millis(50));
    });
    assert_eq!(failure.message, "timed out after 400 ms while reading the response body");
    assert_eq!(failure.status, Some(200));
}

#[test]
fn endless_chunked_body_does_not_stretch_the_timeout() {
    times_out(|mut peer| {
        peer.request();
        peer.say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
        peer.drip("1\r\nx\r\n".repeat(1000), Duration::from_millis(20));
    });
}

#[test]
fn silence_ends_at_the_timeout() {
    times_out(Peer::hang);
}

#[test]
fn stalled_tls_handshake_ends_at_the_timeout() {
    let sink = Sink::new(Peer::hang);
    let url = sink.url().replace("http:", "https:");
    let failure = expires(Request { timeout: TIMEOUT, ..request(url) });
    assert_eq!(failure.message, "timed out after 400 ms in the TLS handshake");
    assert!(!failure.sent);
}

#[test]
fn interim_answers_do_not_stretch_the_timeout() {
    times_out(|mut peer| {
        peer.request();
        while peer.say("HTTP/1.1 100 Continue\r\n\r\n") {
            thread::sleep(Duration::from_millis(20));
        }
    });
}

#[test]
fn a_flood_of_interim_answers_does_not_stretch_the_timeout() {
    times_out(|mut peer| {
        peer.request();
        let flood = "HTTP/1.1 102 Processing\r\n\r\n".repeat(500);
        while peer.say(&flood) {}
    });
}

#[test]
fn a_receiver_that_does_not_read_ends_at_the_timeout() {
    let sink = Sink::new(|peer| {
        thread::sleep(Duration::from_secs(8));
        drop(peer);
    });
    let body = Some("x".repeat(32 << 20).into());
    let failure = expires(Request { timeout: TIMEOUT, body, ..request(sink.url()) });
    assert_eq!(failure.message, "timed out after 400 ms while sending the request");
    assert!(failure.sent);
}

#[test]
fn a_timeout_of_zero_sends_nothing() {
    let sink = Sink::answering(ok(""));
    let failure = failed(engine().perform(&Request { timeout: Duration::ZERO, ..request(sink.url()) }));
    assert_eq!(failure.kind, TransportError::Timeout);
    assert!(!failure.sent);
    assert_eq!(sink.requests(), 0);
}

#[test]
fn a_late_but_honest_answer_succeeds() {
    let sink = Sink::new(|mut peer| {
        peer.request();
        peer.drip(ok("late"), Duration::from_millis(10));
    });
    assert_eq!(reply(engine().perform(&request(sink.url()))).body, b"late");
}

#[test]
fn a_longer_timeout_after_a_shorter_one_on_the_same_connection_is_kept() {
    let sink = Sink::new(|mut peer| {
        peer.request();
        peer.say(ok("fast"));
        peer.request();
        thread::sleep(Duration::from_millis(900));
        peer.say(ok("slow"));
    });
    let engine = engine();
    let short = Request { timeout: Duration::from_millis(500), ..request(sink.url()) };
    assert_eq!(reply(engine.perform(&short)).body, b"fast");
    assert_eq!(reply(engine.perform(&request(sink.url()))).body, b"slow");
    assert_eq!(sink.connections(), 1);
}

#[test]
fn a_shorter_timeout_after_a_longer_one_on_the_same_connection_is_kept() {
    let sink = Sink::new(|mut peer| {
        peer.request();
        peer.say(ok("fast"));
        peer.hang();
    });
    let engine = engine();
    reply(engine.perform(&request(sink.url())));
    let from = Instant::now();
    let short = Request { timeout: TIMEOUT, ..request(sink.url()) };
    let failure = failed(engine.perform(&short));
    assert_eq!(failure.kind, TransportError::Timeout);
    assert!(failure.reused_connection);
    assert!(from.elapsed() < TIMEOUT + SLACK);
}

#[test]
fn an_enormous_timeout_is_accepted() {
    let sink = Sink::answering(ok("yes"));
    let patient = Request { timeout: Duration::MAX, ..request(sink.url()) };
    assert_eq!(reply(engine().perform(&patient)).body, b"yes");
}
