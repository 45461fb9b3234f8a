//! Keep-alive: connections are used again when that is safe, and only then.

use std::thread;
use std::time::{Duration, Instant};

use ureq::unversioned::transport::{Buffers, NextTimeout, Transport};

use super::sink::{Sink, ok};
use super::{engine, eventually, failed, get, reply, request};
use crate::action::idle::{self, IdleStore, Parked};
use crate::action::{Request, TransportError};

#[test]
fn one_connection_serves_many_requests() {
    let sink = Sink::answering(ok("x"));
    let engine = engine();
    for _ in 0..50 {
        reply(engine.perform(&request(sink.url())));
    }
    assert_eq!((sink.connections(), sink.requests(), engine.idle_connections()), (1, 50, 1));
}

#[test]
fn a_connection_closed_while_idle_is_replaced_without_a_failure() {
    let sink = Sink::closing_after(ok("x"));
    let engine = engine();
    for round in 1..=10 {
        reply(engine.perform(&request(sink.url())));
        eventually("the connection is closed", || sink.closed() == round);
        assert_eq!((sink.connections(), sink.requests()), (round, round));
    }
}

#[test]
fn a_connection_reset_while_idle_is_replaced_without_a_failure() {
    let sink = Sink::new(|mut peer| {
        peer.request();
        peer.say(ok("x"));
        thread::sleep(Duration::from_millis(10));
        peer.reset();
    });
    let engine = engine();
    for round in 1..=5 {
        reply(engine.perform(&request(sink.url())));
        eventually("the connection is reset", || sink.closed() == round);
        assert_eq!(sink.requests(), round);
    }
}

#[test]
fn a_close_after_the_probe_is_one_failed_attempt_on_a_reused_connection() {
    let sink = Sink::new(|mut peer| {
        peer.request();
        peer.say(ok("x"));
        peer.request();
    });
    let engine = engine();
    reply(engine.perform(&request(sink.url())));
    let failure = failed(engine.perform(&request(sink.url())));
    assert_eq!(failure.kind, TransportError::Reset);
    assert!(failure.reused_connection && failure.sent);
    assert_eq!((sink.connections(), sink.requests()), (1, 2), "nothing is sent again");
}

#[test]
fn a_fresh_connection_is_not_called_reused() {
    let sink = Sink::closing_after("");
    let failure = failed(engine().perform(&get(sink.url())));
    assert!(!failure.reused_connection);
    assert_eq!((sink.connections(), sink.requests()), (1, 1), "nothing is sent again");
}

#[test]
fn a_connection_the_receiver_wants_closed_is_not_kept() {
    for answer in [
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n",
    ] {
        let sink = Sink::answering(answer);
        let engine = engine();
        reply(engine.perform(&request(sink.url())));
        assert_eq!(engine.idle_connections(), 0);
    }
}

#[test]
fn a_connection_with_unasked_bytes_is_not_used_again() {
    let mut more = ok("x");
    more.extend_from_slice(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged");
    let sink = Sink::answering(more);
    let engine = engine();
    for _ in 0..3 {
        assert_eq!(reply(engine.perform(&request(sink.url()))).body, b"x");
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(sink.connections(), 3);
}

#[test]
fn a_failed_exchange_leaves_no_connection_behind() {
    let sink = Sink::new(|mut peer| {
        peer.request();
        peer.say("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhello");
        peer.hang();
    });
    let engine = engine();
    let impatient = Request { timeout: Duration::from_millis(100), ..request(sink.url()) };
    failed(engine.perform(&impatient));
    assert_eq!(engine.idle_connections(), 0);
}

#[test]
fn idle_connections_stay_within_their_limit_over_all_hosts() {
    let engine = engine();
    let sinks: Vec<Sink> = (0..20).map(|_| Sink::answering(ok("x"))).collect();
    for sink in &sinks {
        reply(engine.perform(&request(sink.url())));
    }
    assert_eq!(engine.idle_connections(), 16);
    for sink in &sinks {
        reply(engine.perform(&request(sink.url())));
    }
    assert_eq!(sinks.iter().map(Sink::connections).sum::<usize>(), 20 + 4);
}

#[test]
fn another_user_in_the_url_gets_another_connection() {
    let sink = Sink::answering(ok("x"));
    let engine = engine();
    let port = sink.port();
    for user in ["a:b@", "c:d@", "a:b@"] {
        reply(engine.perform(&get(format!("http://{user}127.0.0.1:{port}/"))));
    }
    assert_eq!(sink.connections(), 2);
}

/// A connection that never closes by itself.
#[derive(Debug)]
struct Eternal;

impl Transport for Eternal {
    fn buffers(&mut self) -> &mut dyn Buffers {
        unreachable!("it is never used")
    }
    fn transmit_output(&mut self, _: usize, _: NextTimeout) -> Result<(), ureq::Error> {
        Ok(())
    }
    fn await_input(&mut self, _: NextTimeout) -> Result<bool, ureq::Error> {
        Ok(false)
    }
    fn is_open(&mut self) -> bool {
        true
    }
}

fn parked(born: Instant, since: Instant) -> Parked {
    Parked { transport: Box::new(Eternal), born, since }
}

#[test]
fn a_connection_is_used_again_only_while_it_is_young_and_was_used_lately() {
    let store = IdleStore::new(10);
    let home = idle::origin(&"http://h/".parse().unwrap()).unwrap();
    let start = Instant::now();
    let seconds = |count| start + Duration::from_secs(count);
    for (since, now, usable) in [(0, 14, true), (0, 15, false), (50, 59, true), (50, 60, false)] {
        store.park(home.clone(), parked(start, seconds(since)));
        assert_eq!(store.take(&home, seconds(now)).is_some(), usable, "{since} to {now}");
        assert_eq!(store.len(), 0);
    }
}

#[test]
fn expired_connections_of_forgotten_hosts_are_closed() {
    let store = IdleStore::new(10);
    let origin = |host: &str| idle::origin(&format!("http://{host}/").parse().unwrap()).unwrap();
    let start = Instant::now();
    let later = start + Duration::from_secs(16);
    store.park(origin("forgotten"), parked(start, start));
    store.park(origin("another"), parked(later, later));
    assert_eq!(store.len(), 1);
    store.sweep(later + Duration::from_secs(16));
    assert_eq!(store.len(), 0);
}

#[test]
fn a_refusal_before_the_body_was_read_is_heard() {
    let sink = Sink::new(|mut peer| {
        peer.head();
        peer.say("HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno");
    });
    let large = Request { body: Some("x".repeat(16 << 20).into()), ..request(sink.url()) };
    let engine = engine();
    let reply = reply(engine.perform(&large));
    assert_eq!((reply.status, reply.body.as_slice()), (413, &b"no"[..]));
    assert_eq!((sink.connections(), engine.idle_connections()), (1, 0));
}

#[test]
fn an_unfinished_upload_without_an_answer_is_a_reset() {
    let sink = Sink::new(|mut peer| {
        peer.head();
        peer.reset();
    });
    let large = Request { body: Some("x".repeat(16 << 20).into()), ..request(sink.url()) };
    let failure = failed(engine().perform(&large));
    assert_eq!(failure.kind, TransportError::Reset, "{failure}");
    assert_eq!(sink.connections(), 1);
}

#[test]
fn connections_that_cannot_be_used_again_are_closed() {
    let sink = Sink::answering(ok(vec![b'x'; super::LIMIT + 1]));
    let engine = engine();
    for _ in 0..20 {
        reply(engine.perform(&request(sink.url())));
    }
    eventually("all are closed", || sink.closed() == 20);
}
