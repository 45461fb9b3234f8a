//! Host names and addresses: dead ones, hanging look-ups, the cache (B56).

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use super::sink::{Sink, ok, with_headers};
use super::{engine, engine_with, failed, fixed, reply, request};
use crate::action::http::Engine;
use crate::action::lookup::{self, Lookup, Names};
use crate::action::{Request, TransportError, tls};

const CLOSING: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A port that swallows connection attempts: its queue is full and nobody accepts.
fn black_hole(address: &str, port: u16) -> Vec<Socket> {
    let address = SocketAddr::new(address.parse().unwrap(), port).into();
    let tcp = || Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let listener = tcp();
    listener.bind(&address).unwrap();
    listener.listen(0).unwrap();
    let mut sockets = vec![listener];
    for _ in 0..4 {
        let filler = tcp();
        filler.set_nonblocking(true).unwrap();
        let _ = filler.connect(&address);
        sockets.push(filler);
    }
    sockets
}

#[test]
fn a_dead_first_address_costs_a_fraction_of_the_timeout() {
    let sink = Sink::answering(ok("alive"));
    let _hole = black_hole("127.0.0.2", sink.port());
    let engine = engine_with(fixed(&["127.0.0.2", "127.0.0.1"]));
    let from = Instant::now();
    assert_eq!(reply(engine.perform(&request(sink.url_with_host("two")))).body, b"alive");
    assert!(from.elapsed() < Duration::from_secs(5), "{:?}", from.elapsed());
}

#[test]
fn a_refusing_first_address_costs_nothing() {
    let sink = Sink::answering(ok("alive"));
    let engine = engine_with(fixed(&["::1", "127.0.0.3", "127.0.0.1"]));
    assert_eq!(reply(engine.perform(&request(sink.url_with_host("two")))).body, b"alive");
}

#[test]
fn dead_addresses_only_end_at_the_timeout() {
    let sink = Sink::answering(ok("alive"));
    let _holes = (black_hole("127.0.0.2", sink.port()), black_hole("127.0.0.3", sink.port()));
    let engine = engine_with(fixed(&["127.0.0.2", "127.0.0.3"]));
    let timeout = Duration::from_millis(600);
    let failure = failed(engine.perform(&Request { timeout, ..request(sink.url_with_host("two")) }));
    assert_eq!(failure.message, "timed out after 600 ms while connecting");
    assert!(!failure.sent);
}

#[test]
fn a_refused_connection_names_the_address() {
    let failure = failed(engine().perform(&request("http://127.0.0.1:1/")));
    assert_eq!(failure.kind, TransportError::Connect);
    assert!(failure.message.starts_with("could not connect to 127.0.0.1:1: "), "{failure}");
    assert!(!failure.sent && !failure.reused_connection);
}

#[test]
fn address_literals_are_never_looked_up() {
    let engine = engine_with(Arc::new(|host| panic!("looked up {host}")));
    let sink = Sink::answering(ok("x"));
    reply(engine.perform(&request(sink.url())));
    let failure = failed(engine.perform(&request("http://[::1]:1/")));
    assert_ne!(failure.kind, TransportError::Dns, "{failure}");
}

#[test]
fn an_answer_is_looked_up_once() {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    let engine = engine_with(Arc::new(move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
        Ok(vec![LOCAL])
    }));
    let sink = Sink::answering(CLOSING);
    for _ in 0..5 {
        reply(engine.perform(&request(sink.url_with_host("known"))));
    }
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[test]
fn a_moved_host_is_followed_when_the_answer_has_expired() {
    let old = Sink::answering(with_headers("connection: close\r\n", "old"));
    let _new = Sink::at(&format!("127.0.0.2:{}", old.port()), |mut peer| {
        peer.request();
        peer.say(with_headers("connection: close\r\n", "new"));
    });
    let answers = Mutex::new(vec!["127.0.0.2".parse().unwrap(), LOCAL]);
    let lookup: Lookup = Arc::new(move |_| Ok(vec![answers.lock().unwrap().pop().unwrap()]));
    let names = Names::keeping(lookup, Duration::from_millis(300));
    let engine = Engine::new(tls::config(None, None).unwrap(), names, 16, super::LIMIT);
    let target = request(old.url_with_host("moving"));
    assert_eq!(reply(engine.perform(&target)).body, b"old");
    super::eventually("the new address is used", || {
        std::thread::sleep(Duration::from_millis(50));
        reply(engine.perform(&target)).body == b"new"
    });
}

#[test]
fn a_failed_look_up_is_a_dns_failure_and_tried_again_after_a_second() {
    let answers = Arc::new(Mutex::new(vec![Ok(vec![LOCAL]), Err(io::Error::other("SERVFAIL"))]));
    let engine = engine_with(Arc::new(move |_| answers.lock().unwrap().pop().unwrap()));
    let sink = Sink::answering(ok("x"));
    let target = request(sink.url_with_host("flaky"));
    for _ in 0..2 {
        let failure = failed(engine.perform(&target));
        assert_eq!(failure.kind, TransportError::Dns);
        assert_eq!(failure.message, "could not look up the host name: SERVFAIL");
    }
    super::eventually("the failure is forgotten", || {
        matches!(engine.perform(&target), crate::action::Answer::Reply(_))
    });
}

#[test]
fn a_name_without_addresses_is_a_dns_failure() {
    let failure = failed(engine_with(fixed(&[])).perform(&request("http://empty/")));
    assert_eq!(failure.kind, TransportError::Dns);
}

#[test]
fn a_name_the_system_does_not_know_is_a_dns_failure() {
    let failure = failed(engine().perform(&request("http://does-not-exist.invalid/")));
    assert_eq!(failure.kind, TransportError::Dns, "{failure}");
}

#[test]
fn a_panic_in_a_look_up_is_a_dns_failure() {
    let failure = failed(engine_with(Arc::new(|_| panic!("boom"))).perform(&request("http://h/")));
    assert_eq!(failure.kind, TransportError::Dns);
    assert!(failure.message.ends_with("boom"), "{failure}");
}

/// Holds up look-ups of names with "hang" in them until it is opened.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    fn lookup(&self) -> Lookup {
        let gate = self.0.clone();
        Arc::new(move |host: &str| {
            let is_open = gate.0.lock().unwrap();
            drop(gate.1.wait_while(is_open, |open| host.contains("hang") && !*open).unwrap());
            Ok(vec![LOCAL])
        })
    }
}

fn engine_and_names(lookup: Lookup) -> (Engine, Names) {
    let names = Names::new(lookup);
    let engine = Engine::new(tls::config(None, None).unwrap(), names.clone(), 16, super::LIMIT);
    (engine, names)
}

#[test]
fn a_hanging_look_up_ends_at_the_timeout_and_holds_one_thread() {
    let gate = Gate::default();
    let (engine, names) = engine_and_names(gate.lookup());
    let timeout = Duration::from_millis(60);
    for _ in 0..5 {
        let failure = failed(engine.perform(&Request { timeout, ..request("http://hang/") }));
        assert_eq!(failure.kind, TransportError::Timeout);
        assert_eq!(failure.message, "timed out after 60 ms while looking up the host name");
        assert!(!failure.sent);
    }
    assert_eq!(names.threads(), 1);
    let sink = Sink::answering(ok("x"));
    reply(engine.perform(&request(sink.url_with_host("healthy"))));
    gate.open();
    reply(engine.perform(&request(sink.url_with_host("hang"))));
}

#[test]
fn many_hanging_names_hold_a_bounded_number_of_threads() {
    let (engine, names) = engine_and_names(Gate::default().lookup());
    for n in 0..lookup::MAX_THREADS + 20 {
        let timeout = Duration::from_millis(3);
        failed(engine.perform(&Request { timeout, ..request(format!("http://hang{n}/")) }));
    }
    assert_eq!(names.threads(), lookup::MAX_THREADS);
}

#[test]
fn a_reply_that_comes_too_late_for_one_request_serves_the_next() {
    let gate = Gate::default();
    let (engine, _) = engine_and_names(gate.lookup());
    let sink = Sink::answering(ok("x"));
    let timeout = Duration::from_millis(30);
    failed(engine.perform(&Request { timeout, ..request(sink.url_with_host("hang")) }));
    gate.open();
    reply(engine.perform(&request(sink.url_with_host("hang"))));
}
