//! A scripted HTTP/1.1 server that records every request that reaches it.
//!
//! What it answers is decided per path by closures; without one it answers 200
//! with an empty JSON object. It keeps connections open, holds hundreds of them
//! (one thread each), and never checks what clients may send: judging requests
//! is for the tests.

mod answer;
mod read;
mod tls;

use std::collections::HashMap;
use std::io::BufReader;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

pub use answer::{Answer, Reply};
pub use tls::Authority;

use answer::Fate;
use tls::Stream;

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: String,
    /// Path and query, as sent.
    pub path: String,
    /// Header names in lower case, with their values, in order.
    pub headers: Vec<(String, String)>,
    /// The body's bytes.
    pub body: Vec<u8>,
    /// When its last byte had been read.
    pub at: Instant,
    /// Number of the connection it came on, from 1.
    pub connection: u64,
}

impl Request {
    /// The first value of a header; the name is given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The idempotency key, or an empty text.
    pub fn key(&self) -> &str {
        self.header("idempotency-key").unwrap_or_default()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// If it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }
}

type Rule = Arc<dyn Fn(&Request, usize) -> Answer + Send + Sync>;

struct Shared {
    rules: Mutex<Vec<(String, Rule, Arc<AtomicUsize>)>>,
    requests: Mutex<Vec<Request>>,
    open: Mutex<HashMap<u64, TcpStream>>,
    in_flight: AtomicUsize,
    peak: AtomicUsize,
    connections: AtomicU64,
    closing: AtomicBool,
}

/// The server; it ends on drop and closes its connections.
pub struct Sink {
    address: SocketAddr,
    scheme: &'static str,
    host: &'static str,
    shared: Arc<Shared>,
}

impl Sink {
    /// Starts on a free port of 127.0.0.1.
    pub fn start() -> Self {
        Self::serve(0, None)
    }

    /// Starts on a given port, for receivers that come back.
    pub fn start_on(port: u16) -> Self {
        Self::serve(port, None)
    }

    /// Starts with TLS, with a certificate for `localhost` from `authority`.
    pub fn start_tls(authority: &Authority) -> Self {
        Self::serve(0, Some(authority.server_config("localhost")))
    }

    fn serve(port: u16, tls: Option<tls::ServerConfig>) -> Self {
        let listener = listen(port);
        let sink = Self {
            address: listener.local_addr().expect("bound socket"),
            scheme: if tls.is_some() { "https" } else { "http" },
            host: if tls.is_some() { "localhost" } else { "127.0.0.1" },
            shared: Arc::new(Shared {
                rules: Mutex::default(),
                requests: Mutex::default(),
                open: Mutex::default(),
                in_flight: AtomicUsize::new(0),
                peak: AtomicUsize::new(0),
                connections: AtomicU64::new(0),
                closing: AtomicBool::new(false),
            }),
        };
        let shared = Arc::clone(&sink.shared);
        thread::spawn(move || accept(&listener, tls.as_ref(), &shared));
        sink
    }

    /// Answers requests whose path starts with `prefix` by the closure, which
    /// is told how many requests this rule has seen before. The newest
    /// matching rule wins.
    pub fn on(&self, prefix: &str, rule: impl Fn(&Request, usize) -> Answer + Send + Sync + 'static) {
        let entry = (prefix.to_owned(), Arc::new(rule) as Rule, Arc::default());
        lock(&self.shared.rules).push(entry);
    }

    /// Answers requests of a prefix always the same way.
    pub fn always(&self, prefix: &str, answer: Answer) {
        self.on(prefix, move |_, _| answer.clone());
    }

    /// Fails the first `times` requests of each idempotency key with `status`,
    /// then answers 200.
    pub fn fail_first(&self, prefix: &str, times: usize, status: u16) {
        let seen: Mutex<HashMap<String, usize>> = Mutex::default();
        self.on(prefix, move |request, _| {
            let mut seen = lock(&seen);
            let count = seen.entry(request.key().to_owned()).or_default();
            *count += 1;
            Answer::status(if *count <= times { status } else { 200 })
        });
    }

    /// Address of a path on this server.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin())
    }

    /// `scheme://host:port`, which is also the name of the default lane.
    pub fn origin(&self) -> String {
        format!("{}://{}:{}", self.scheme, self.host, self.port())
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// All requests so far, in order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.shared.requests).clone()
    }

    /// The requests whose path starts with `prefix`.
    pub fn requests_for(&self, prefix: &str) -> Vec<Request> {
        let requests = lock(&self.shared.requests);
        let matching = requests.iter().filter(|r| r.path.starts_with(prefix));
        matching.cloned().collect()
    }

    /// Number of requests so far.
    pub fn count(&self) -> usize {
        lock(&self.shared.requests).len()
    }

    /// Largest number of requests that were open at the same time.
    pub fn peak(&self) -> usize {
        self.shared.peak.load(Ordering::SeqCst)
    }

    /// Requests that have arrived and are not answered yet.
    pub fn in_flight(&self) -> usize {
        self.shared.in_flight.load(Ordering::SeqCst)
    }

    /// Number of connections accepted so far.
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Closes every open connection, as a server does with idle ones.
    pub fn close_connections(&self) {
        for stream in lock(&self.shared.open).values() {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        // Wakes the accepting thread, which then sees the flag and lets the port go.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        self.close_connections();
    }
}

fn listen(port: u16) -> TcpListener {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(listener) => return listener,
            // A port that is used again may need a moment after its last owner.
            Err(error) => assert!(Instant::now() < deadline, "port {port}: {error}"),
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn accept(listener: &TcpListener, tls: Option<&tls::ServerConfig>, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.closing.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let number = shared.connections.fetch_add(1, Ordering::SeqCst) + 1;
        if let Ok(clone) = stream.try_clone() {
            lock(&shared.open).insert(number, clone);
        }
        let (tls, shared) = (tls.cloned(), Arc::clone(shared));
        let work = move || {
            if let Some(stream) = Stream::accept(stream, tls) {
                serve_connection(stream, number, &shared);
            }
            lock(&shared.open).remove(&number);
        };
        let builder = thread::Builder::new().stack_size(256 * 1024);
        builder.spawn(work).expect("could not start a thread");
    }
}

/// Reads and answers requests until one side ends the connection.
fn serve_connection(stream: Stream, number: u64, shared: &Shared) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read::request(&mut reader, number) {
        let answer = answer_for(shared, &request);
        lock(&shared.requests).push(request);
        let now = shared.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        shared.peak.fetch_max(now, Ordering::SeqCst);
        let fate = answer.perform(reader.get_mut());
        shared.in_flight.fetch_sub(1, Ordering::SeqCst);
        if fate == Fate::End {
            return;
        }
    }
}

fn answer_for(shared: &Shared, request: &Request) -> Answer {
    let found = {
        let rules = lock(&shared.rules);
        let newest = rules.iter().rev().find(|(prefix, ..)| request.path.starts_with(prefix));
        newest.map(|(_, rule, seen)| (Arc::clone(rule), seen.fetch_add(1, Ordering::SeqCst)))
    };
    match found {
        Some((rule, seen)) => rule(request, seen),
        None => Answer::status(200),
    }
}

/// A test that panicked while it held a lock must not hide its own message
/// behind those of others.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
