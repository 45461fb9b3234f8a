//! From ureq's errors to a kind and a sentence.
//!
//! Contract: the kind follows from the error and from how far the attempt got. The sentence names
//! addresses, limits and the system's or the TLS library's reason.
//!
//! Must never quote a header, a body or a URL: any of them may hold a secret.

use std::io::{self, ErrorKind};
use std::time::Duration;

use ureq::Error;

use super::attempt::{self, Phase};
use super::buffers::HEADER_LIMIT;
use super::{TransportError, TransportFailure};

/// A failure of the running attempt.
pub(super) fn new(kind: TransportError, message: impl Into<String>) -> TransportFailure {
    let attempt = attempt::current();
    TransportFailure {
        kind,
        message: message.into(),
        reused_connection: attempt.is_some_and(|attempt| attempt.reused),
        sent: attempt.is_some_and(|attempt| attempt.sent),
        status: attempt.and_then(|attempt| attempt.status),
    }
}

/// The failure that `error` means for the running attempt, which was allowed `timeout`.
pub(super) fn from_ureq(error: Error, timeout: Duration) -> TransportFailure {
    let phase = attempt::current().map_or(Phase::Start, |attempt| attempt.phase);
    match error {
        Error::Timeout(_) => {
            new(TransportError::Timeout, format!("timed out after {} ms {}", timeout.as_millis(), phase.doing()))
        }
        Error::Io(error) => from_io(&error, phase),
        Error::HostNotFound => new(TransportError::Dns, "the host name has no address"),
        Error::LargeResponseHeader(..) => {
            new(TransportError::Malformed, format!("response headers are over {} kB", HEADER_LIMIT / 1024))
        }
        Error::Tls(_) | Error::Rustls(_) => tls(&error.to_string()),
        Error::Protocol(error) if phase < Phase::Send || !was_sent() => {
            new(TransportError::Request, format!("request cannot be sent: {error}"))
        }
        Error::Protocol(error) => malformed(&error.to_string()),
        Error::BadUri(_) | Error::Http(_) => new(TransportError::Request, "the URL cannot be used"),
        Error::BodyStalled => new(TransportError::Truncated, "response body does not go on"),
        other => new(TransportError::Malformed, format!("exchange failed: {other}")),
    }
}

fn was_sent() -> bool {
    attempt::current().is_some_and(|attempt| attempt.sent)
}

fn malformed(reason: &str) -> TransportFailure {
    let reason = match reason {
        "http parse resulted in too many headers" => "more than 128 header lines",
        other => other.strip_prefix("http parse fail: ").unwrap_or(other),
    };
    new(TransportError::Malformed, format!("response is not valid HTTP: {reason}"))
}

fn tls(reason: &str) -> TransportFailure {
    let reason = reason.strip_prefix("rustls: ").unwrap_or(reason);
    new(TransportError::Tls, format!("TLS failed: {reason}"))
}

fn from_io(error: &io::Error, phase: Phase) -> TransportFailure {
    if is_exhaustion(error) {
        return new(TransportError::Local, format!("could not open a connection: {error}"));
    }
    match phase {
        Phase::Start => new(TransportError::Local, error.to_string()),
        Phase::Lookup => new(TransportError::Dns, format!("could not look up the host name: {error}")),
        Phase::Connect => new(TransportError::Connect, format!("could not connect to {error}")),
        Phase::Handshake if error.kind() == ErrorKind::UnexpectedEof => {
            tls("the server closed the connection during the handshake")
        }
        Phase::Handshake => tls(&error.to_string()),
        // rustls reports alerts and bad records as InvalidData.
        _ if error.kind() == ErrorKind::InvalidData => tls(&error.to_string()),
        Phase::Send | Phase::Wait | Phase::Body => broken(error),
    }
}

/// Out of file descriptors or memory: a fault of this machine.
fn is_exhaustion(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::ENOBUFS))
}

/// The connection ended in the middle of an exchange.
fn broken(error: &io::Error) -> TransportFailure {
    let attempt = attempt::current();
    let answered = attempt.is_some_and(|attempt| attempt.answered);
    // ureq turns a reset in the body into an early end; the first error tells them apart.
    let kind = attempt.and_then(|attempt| attempt.read_error).unwrap_or(error.kind());
    match (kind, answered) {
        (ErrorKind::UnexpectedEof, true) => truncated(),
        (ErrorKind::UnexpectedEof, false) => new(TransportError::Reset, "connection closed without a response"),
        (ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted, _) => {
            new(TransportError::Reset, "connection reset by the receiver")
        }
        _ => new(TransportError::Reset, format!("connection failed: {error}")),
    }
}

/// A response that ended before its end.
pub(super) fn truncated() -> TransportFailure {
    new(TransportError::Truncated, "connection closed before the end of the response")
}

/// A response that lasts until the connection ends, and it ended with an error of this kind.
pub(super) fn ended_by(kind: ErrorKind) -> TransportFailure {
    broken(&kind.into())
}
