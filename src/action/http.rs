//! Performing one HTTP request.
//!
//! Contract: [`Engine::perform`] blocks the calling thread until there is a complete answer or a
//! failure, never longer than the request's timeout. Every status is an answer, 3xx included.
//!
//! Must never follow a redirect, use a proxy from the environment, keep a cookie, or send anything
//! a second time: requests on the wire are attempts reported.

use std::sync::Arc;
use std::time::Instant;

use ureq::Agent;
use ureq::Body;
use ureq::config::Config;
use ureq::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use ureq::http::{self, Method, Response, Uri, Version};
use ureq::tls::TlsConfig;

use super::attempt::{self, Phase};
use super::body::{self, Encoding};
use super::buffers::{HEADER_LIMIT, INPUT_LIMIT, LINE_LIMIT, TLS_OUTPUT_SIZE};
use super::idle::IdleStore;
use super::lease::ReusingConnector;
use super::lookup::Names;
use super::resolver::CachingResolver;
use super::{Answer, Reply, Request, TransportError, TransportFailure, failure};

/// Bytes kept of an answer whose body nobody wants.
const SUMMARY_BYTES: usize = 2 * 1024;

/// Headers that frame the message on the wire.
const FRAMING: [HeaderName; 4] = [header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::EXPECT, header::UPGRADE];

type Outcome<T> = Result<T, TransportFailure>;

/// An HTTP client; shared by all threads of a pool.
pub(super) struct Engine {
    agent: Agent,
    idle: Arc<IdleStore>,
    max_response_bytes: usize,
}

impl Engine {
    /// A client with an empty connection store.
    pub(super) fn new(tls: TlsConfig, names: Names, max_idle_connections: usize, max_response_bytes: usize) -> Self {
        let idle = Arc::new(IdleStore::new(max_idle_connections));
        let connector = ReusingConnector::new(idle.clone());
        let agent = Agent::with_parts(config(tls), connector, CachingResolver::new(names));
        Engine { agent, idle, max_response_bytes }
    }

    /// The same client, connections and all, with another size limit.
    pub(super) fn with_limit(&self, max_response_bytes: usize) -> Self {
        Engine { agent: self.agent.clone(), idle: self.idle.clone(), max_response_bytes }
    }

    /// Sends `request` and reads the answer.
    pub(super) fn perform(&self, request: &Request) -> Answer {
        let _running = attempt::begin(request.timeout);
        match self.exchange(request) {
            Ok(reply) => Answer::Reply(reply),
            Err(failure) => Answer::Failed(failure),
        }
    }

    /// Closes connections that have been unused for too long.
    pub(super) fn sweep(&self) {
        self.idle.sweep(Instant::now());
    }

    fn exchange(&self, request: &Request) -> Outcome<Reply> {
        let answer = self
            .send(build(request)?, request.body.as_deref())
            .map_err(|error| failure::from_ureq(error, request.timeout))?;
        attempt::update(|attempt| {
            attempt.phase = Phase::Body;
            attempt.status = Some(answer.status().as_u16());
        });
        self.receive(request, answer)
    }

    fn send(&self, head: http::Request<()>, body: Option<&str>) -> Result<Response<Body>, ureq::Error> {
        // RFC 9110, section 8.6: a method that expects content says so even if there is none.
        let expects_content = matches!(*head.method(), Method::POST | Method::PUT | Method::PATCH);
        match body.or(expects_content.then_some("")) {
            Some(body) => self.agent.run(head.map(|()| body)),
            None => self.agent.run(head),
        }
    }

    fn receive(&self, request: &Request, answer: Response<Body>) -> Outcome<Reply> {
        let (head, body) = answer.into_parts();
        let keep = if request.want_body { usize::MAX } else { SUMMARY_BYTES };
        let encoding = Encoding::named(head.headers.get(header::CONTENT_ENCODING).map(HeaderValue::as_bytes));
        let taken = body::take(body.into_reader(), encoding, keep, self.max_response_bytes)
            .map_err(|error| failure::from_ureq(error.into(), request.timeout))?;
        if let Some(kind) = attempt::current().and_then(|attempt| attempt.read_error)
            && lasts_until_close(&head.headers, head.version)
        {
            return Err(failure::ended_by(kind));
        }
        Ok(Reply {
            status: head.status.as_u16(),
            headers: readable(&head.headers),
            body: taken.bytes,
            cut: taken.cut.is_some(),
            cut_reason: taken.cut,
        })
    }

    /// Connections that wait for a request.
    #[cfg(test)]
    pub(super) fn idle_connections(&self) -> usize {
        self.idle.len()
    }
}

fn config(tls: TlsConfig) -> Config {
    Config::builder()
        .tls_config(tls)
        .proxy(None)
        .http_status_as_error(false)
        .allow_non_standard_methods(true)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .max_response_header_size(HEADER_LIMIT)
        .input_buffer_size(INPUT_LIMIT)
        .output_buffer_size(TLS_OUTPUT_SIZE)
        .max_idle_connections(0)
        .accept_encoding("gzip")
        .user_agent(concat!("rea/", env!("CARGO_PKG_VERSION")))
        .build()
}

fn refuse(why: impl Into<String>) -> TransportFailure {
    failure::new(TransportError::Request, why)
}

/// Everything but the body.
fn build(request: &Request) -> Outcome<http::Request<()>> {
    let mut outgoing = http::Request::new(());
    *outgoing.method_mut() = method(&request.method)?;
    *outgoing.uri_mut() = uri(&request.url)?;
    outgoing.headers_mut().reserve(request.headers.len());
    for (name, value) in &request.headers {
        let (name, value) = header_line(name, value)?;
        outgoing.headers_mut().append(name, value);
    }
    Ok(outgoing)
}

fn method(text: &str) -> Outcome<Method> {
    match Method::from_bytes(text.as_bytes()) {
        Ok(Method::CONNECT) | Err(_) => Err(refuse("the method is not allowed")),
        Ok(method) => Ok(method),
    }
}

fn uri(text: &str) -> Outcome<Uri> {
    let uri: Uri = text.parse().map_err(|error| refuse(format!("the URL is not valid: {error}")))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(refuse("the URL is neither http nor https"));
    }
    if uri.host().is_none_or(str::is_empty) {
        return Err(refuse("the URL has no host"));
    }
    if text.len() > LINE_LIMIT {
        return Err(refuse(format!("the URL is over {} kB", LINE_LIMIT / 1024)));
    }
    Ok(uri)
}

/// A header as it may be sent: its name is a token (RFC 9110, section 5.1) that does not frame the
/// message, its value has no control characters.
fn header_line(name: &str, value: &str) -> Outcome<(HeaderName, HeaderValue)> {
    let bad = |what: &str| refuse(format!("header {:?} {what}", clipped(name)));
    if name.len() + value.len() + 4 > LINE_LIMIT {
        return Err(bad(&format!("is over {} kB", LINE_LIMIT / 1024)));
    }
    let known = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad("has an invalid name"))?;
    if FRAMING.contains(&known) {
        return Err(bad("is set by the engine alone"));
    }
    let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| bad("has a value with control characters"))?;
    Ok((known, value))
}

/// Enough of a name to find it again.
fn clipped(name: &str) -> &str {
    name.char_indices().nth(64).and_then(|(end, _)| name.get(..end)).unwrap_or(name)
}

/// Neither a length nor chunks: only the end of the connection ends the body (RFC 9112, section
/// 6.3), and an error instead of an orderly end means that something may be missing.
fn lasts_until_close(headers: &HeaderMap, version: Version) -> bool {
    let chunked = version != Version::HTTP_10 && headers.contains_key(header::TRANSFER_ENCODING);
    !chunked && !headers.contains_key(header::CONTENT_LENGTH)
}

fn readable(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}
