//! Tests of the thread edge against scripted receivers on 127.0.0.1.
//!
//! Waiting has a deadline and a condition; limits on elapsed time are generous, because the tests
//! share their machine.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bodies;
mod connections;
mod names;
mod pool;
mod protocol;
mod requests;
mod scripts;
mod sink;
mod timeouts;
mod tls;
mod truncation;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::http::Engine;
use super::lookup::{Lookup, Names};
use super::{Answer, Reply, Request, TransportFailure};

/// Size limit of the engines under test.
const LIMIT: usize = 64 * 1024;

fn request(url: impl Into<String>) -> Request {
    Request {
        method: "POST".into(),
        url: url.into(),
        headers: vec![("content-type".into(), "application/json".into())],
        body: Some(r#"{"n":1}"#.into()),
        timeout: Duration::from_secs(10),
        want_body: true,
    }
}

fn get(url: impl Into<String>) -> Request {
    Request { method: "GET".into(), body: None, ..request(url) }
}

fn engine() -> Engine {
    engine_with(super::lookup::system())
}

fn engine_with(lookup: Lookup) -> Engine {
    let tls = super::tls::config(None, None).unwrap();
    Engine::new(tls, Names::new(lookup), 16, LIMIT)
}

/// A look-up that knows one name.
fn fixed(addresses: &[&str]) -> Lookup {
    let addresses: Vec<IpAddr> = addresses.iter().map(|text| text.parse().unwrap()).collect();
    Arc::new(move |_| Ok(addresses.clone()))
}

#[track_caller]
fn reply(answer: Answer) -> Reply {
    match answer {
        Answer::Reply(reply) => reply,
        other => panic!("no reply: {other:?}"),
    }
}

#[track_caller]
fn failed(answer: Answer) -> TransportFailure {
    match answer {
        Answer::Failed(failure) => failure,
        other => panic!("no failure: {other:?}"),
    }
}

#[track_caller]
fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < until, "never came true: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
