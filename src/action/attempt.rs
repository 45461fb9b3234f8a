//! The attempt that runs on this thread: its deadline, how far it got, what went wrong.
//!
//! ureq hands no per-request data down to resolvers and transports, but calls them all on the
//! thread that performs the request, so the attempt lives in a thread-local. One absolute deadline
//! bounds every phase; ureq's own timers are off. (Its per-request settings would copy the
//! configuration and rebuild the TLS setup for each connection.)
//!
//! Must never outlive its [`Running`] guard: without one, every wait is already over.

use std::cell::Cell;
use std::io;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

use ureq::{Error, Timeout};

/// How far an attempt got. The order is the order in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Building the request; nothing has been done yet.
    Start,
    /// Looking up the host name.
    Lookup,
    /// Opening a TCP connection.
    Connect,
    /// In the TLS handshake.
    Handshake,
    /// Sending the request.
    Send,
    /// Waiting for the status line and headers.
    Wait,
    /// Reading the body.
    Body,
}

impl Phase {
    /// What the attempt was doing, to follow "timed out after 5000 ms".
    pub(super) fn doing(self) -> &'static str {
        match self {
            Phase::Start => "before anything was sent",
            Phase::Lookup => "while looking up the host name",
            Phase::Connect => "while connecting",
            Phase::Handshake => "in the TLS handshake",
            Phase::Send => "while sending the request",
            Phase::Wait => "while waiting for the response headers",
            Phase::Body => "while reading the response body",
        }
    }
}

/// What is known of the running attempt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt {
    deadline: Instant,
    /// How far it got.
    pub(super) phase: Phase,
    /// It goes over a connection that had served another request.
    pub(super) reused: bool,
    /// Bytes of the request were handed to the connection.
    pub(super) sent: bool,
    /// At least one byte came back.
    pub(super) answered: bool,
    /// Status of the answer, once its headers are there.
    pub(super) status: Option<u16>,
    /// The last read ended with this error; ureq hides it when a body ends with the connection.
    pub(super) read_error: Option<io::ErrorKind>,
}

thread_local! {
    static CURRENT: Cell<Option<Attempt>> = const { Cell::new(None) };
}

/// Keeps the attempt of this thread alive.
pub(super) struct Running(PhantomData<*const ()>);

impl Drop for Running {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

/// Starts an attempt on this thread that may take `timeout` as a whole.
pub(super) fn begin(timeout: Duration) -> Running {
    let now = Instant::now();
    CURRENT.set(Some(Attempt {
        // A timeout too large for the clock is as good as a year.
        deadline: now.checked_add(timeout).unwrap_or(now + Duration::from_secs(31_536_000)),
        phase: Phase::Start,
        reused: false,
        sent: false,
        answered: false,
        status: None,
        read_error: None,
    }));
    Running(PhantomData)
}

/// The running attempt, if there is one.
pub(super) fn current() -> Option<Attempt> {
    CURRENT.get()
}

/// Changes the running attempt.
pub(super) fn update(change: impl FnOnce(&mut Attempt)) {
    if let Some(mut attempt) = CURRENT.get() {
        change(&mut attempt);
        CURRENT.set(Some(attempt));
    }
}

/// Notes that the attempt has reached `phase`.
pub(super) fn enter(phase: Phase) {
    update(|attempt| attempt.phase = phase);
}

/// Time left, never zero.
///
/// # Errors
/// [`Error::Timeout`] when the deadline has passed, or no attempt is running.
pub(super) fn remaining() -> Result<Duration, Error> {
    CURRENT
        .get()
        .map(|attempt| attempt.deadline.saturating_duration_since(Instant::now()))
        .filter(|left| !left.is_zero())
        .ok_or(Error::Timeout(Timeout::Global))
}
