//! What each path answers, and the counters and arrivals it keeps.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::connection::Request;

/// Settings from the command line.
#[derive(Default)]
pub struct Rules {
    /// Delay of every answer that names none itself, in milliseconds.
    pub delay_ms: u64,
    /// Keep the arrival time of every event id.
    pub record: bool,
}

/// An answer and when to give it.
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    pub delay: Duration,
}

/// Rules and what has happened under them.
pub struct Routes {
    rules: Rules,
    requests: u64,
    failed: u64,
    failures_by_key: HashMap<Vec<u8>, u64>,
    arrivals: Vec<(Vec<u8>, u128)>,
}

impl Routes {
    pub fn new(rules: Rules) -> Self {
        Self { rules, requests: 0, failed: 0, failures_by_key: HashMap::new(), arrivals: Vec::new() }
    }

    /// The answer to one request. Paths that ask about the receiver itself are
    /// answered at once and not counted.
    pub fn answer(&mut self, request: &Request, open: usize) -> Answer {
        match request.path {
            "/stats" => return at_once(self.stats(open)),
            "/log" => return at_once(self.log()),
            "/forget" => {
                self.forget();
                return at_once(b"{}".to_vec());
            }
            _ => {}
        }
        self.requests += 1;
        if self.rules.record {
            self.arrivals.push((request.event_id.to_vec(), now_ns()));
        }
        let mut parts = request.path.trim_start_matches('/').split('/');
        let first = parts.next().unwrap_or_default();
        let mut argument = || -> u64 { parts.next().and_then(|n| n.parse().ok()).unwrap_or(0) };
        self.by_name(first, &mut argument, request.key)
    }

    fn by_name(&mut self, name: &str, argument: &mut dyn FnMut() -> u64, key: &[u8]) -> Answer {
        let delay = Duration::from_millis(self.rules.delay_ms);
        let good = |body: Vec<u8>, delay| Answer { status: 200, body, delay };
        match name {
            "ok" => good(br#"{"ok":true}"#.to_vec(), delay),
            "slow" => good(br#"{"ok":true}"#.to_vec(), Duration::from_millis(argument())),
            "fail" if self.still_fails(key, argument()) => {
                self.failed += 1;
                let body = br#"{"error":"not yet"}"#.to_vec();
                Answer { status: 503, body, delay }
            }
            _ => good(format!(r#"{{"id":"r-{}"}}"#, self.requests).into_bytes(), delay),
        }
    }

    fn still_fails(&mut self, key: &[u8], times: u64) -> bool {
        let count = self.failures_by_key.entry(key.to_vec()).or_default();
        *count += 1;
        *count <= times
    }

    fn stats(&self, open: usize) -> Vec<u8> {
        let (requests, failed) = (self.requests, self.failed);
        format!(r#"{{"requests":{requests},"failed":{failed},"connections":{open}}}"#).into_bytes()
    }

    fn log(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for (event_id, at) in &self.arrivals {
            text.extend_from_slice(event_id);
            text.extend_from_slice(format!("\t{at}\n").as_bytes());
        }
        text
    }

    fn forget(&mut self) {
        self.requests = 0;
        self.failed = 0;
        self.failures_by_key.clear();
        self.arrivals.clear();
    }
}

fn at_once(body: Vec<u8>) -> Answer {
    Answer { status: 200, body, delay: Duration::ZERO }
}

/// Nanoseconds since 1970, on the clock that PostgreSQL's timestamps use.
fn now_ns() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::{Parsed, parse};

    fn ask(routes: &mut Routes, path: &str, key: &str) -> Answer {
        let text = format!("POST {path} HTTP/1.1\r\nIdempotency-Key: {key}\r\n\r\n");
        match parse(text.as_bytes()) {
            Parsed::Whole(request) => routes.answer(&request, 1),
            _ => panic!("not a whole request"),
        }
    }

    #[test]
    fn each_key_fails_as_often_as_the_path_says() {
        let mut routes = Routes::new(Rules::default());
        let statuses: Vec<u16> =
            ["a", "a", "b", "a"].iter().map(|key| ask(&mut routes, "/fail/2/grant", key).status).collect();
        assert_eq!(statuses, [503, 503, 503, 200]);
        assert_eq!(
            String::from_utf8_lossy(&ask(&mut routes, "/stats", "").body),
            r#"{"requests":4,"failed":3,"connections":1}"#
        );
    }

    #[test]
    fn a_path_may_set_its_own_delay() {
        let mut routes = Routes::new(Rules { delay_ms: 5, record: false });
        assert_eq!(ask(&mut routes, "/ok", "").delay, Duration::from_millis(5));
        assert_eq!(ask(&mut routes, "/slow/2000", "").delay, Duration::from_secs(2));
    }
}
