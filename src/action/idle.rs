//! Connections that wait for their next request.
//!
//! ureq has a connection pool of its own, but one list and one lock for all hosts, walked several
//! times per request and probing under the lock; with hundreds of threads it is the bottleneck.
//! It is switched off (`max_idle_connections(0)`), and this store stands in for it: the outermost
//! connector gives out [`Leased`] connections. ureq asks `is_open` exactly when a connection has
//! served its request whole and may be kept, then drops it; the drop brings it back here. A
//! connection dropped in any other state is closed.
//!
//! Must never give out a connection that the peer has closed, that has unread bytes, that has been
//! unused for [`MAX_IDLE`] or is older than [`MAX_AGE`] (so that a change of DNS is followed even
//! under constant traffic).

use std::collections::HashMap;
use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ureq::Error;
use ureq::http::uri::{Authority, Scheme, Uri};
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, RustlsConnector, Transport};

use super::attempt::{self, Phase};
use super::connect::Dialer;

/// Longest pause between two requests on one connection. Short, because most servers close
/// between 5 and 75 s, and a close that crosses a request costs an attempt.
const MAX_IDLE: Duration = Duration::from_secs(15);
/// Longest life of a connection.
const MAX_AGE: Duration = Duration::from_secs(60);

/// What a connection leads to, the user in the URL included.
pub(super) type Origin = (Scheme, Authority);

/// An open connection that nobody uses.
pub(super) struct Parked {
    /// The connection itself.
    pub(super) transport: Box<dyn Transport>,
    /// When it was opened.
    pub(super) born: Instant,
    /// When it was used last.
    pub(super) since: Instant,
}

impl Parked {
    fn is_fresh(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) < MAX_IDLE && now.saturating_duration_since(self.born) < MAX_AGE
    }
}

/// All parked connections, the most recently used last.
#[derive(Default)]
pub(super) struct IdleStore {
    limit: usize,
    shelves: Mutex<Shelves>,
}

#[derive(Default)]
struct Shelves {
    by_origin: HashMap<Origin, Vec<Parked>>,
    count: usize,
    last_sweep: Option<Instant>,
}

impl IdleStore {
    /// A store that keeps at most `limit` connections over all hosts.
    pub(super) fn new(limit: usize) -> Self {
        IdleStore { limit, shelves: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Shelves> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection used last for `origin` that is still open.
    pub(super) fn take(&self, origin: &Origin, now: Instant) -> Option<Parked> {
        loop {
            let mut parked = self.lock().pop(origin)?;
            // Probed outside the lock: it is a system call.
            if parked.is_fresh(now) && parked.transport.is_open() {
                return Some(parked);
            }
        }
    }

    /// Keeps a connection that is whole and quiet from `parked.since` on.
    pub(super) fn park(&self, origin: Origin, parked: Parked) {
        let now = parked.since;
        let mut shelves = self.lock();
        let expired = shelves.sweep_if_due(now);
        let surplus = shelves.push(origin, parked, self.limit);
        drop(shelves);
        // Closing is a system call too.
        drop((expired, surplus));
    }

    /// Closes what may not be used any more.
    pub(super) fn sweep(&self, now: Instant) {
        let expired = self.lock().sweep(now);
        drop(expired);
    }

    /// Number of parked connections.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().count
    }
}

impl Shelves {
    fn pop(&mut self, origin: &Origin) -> Option<Parked> {
        let parked = self.by_origin.get_mut(origin)?.pop()?;
        self.count -= 1;
        Some(parked)
    }

    /// Adds a connection, or hands it back if there is no room.
    fn push(&mut self, origin: Origin, parked: Parked, limit: usize) -> Option<Parked> {
        if self.count >= limit {
            return Some(parked);
        }
        self.count += 1;
        self.by_origin.entry(origin).or_default().push(parked);
        None
    }

    /// Hosts that are not called any more must not hold connections, so all shelves are looked
    /// through now and then.
    fn sweep_if_due(&mut self, now: Instant) -> Vec<Parked> {
        let due = self.last_sweep.is_none_or(|last| now.saturating_duration_since(last) >= MAX_IDLE / 3);
        if due { self.sweep(now) } else { Vec::new() }
    }

    fn sweep(&mut self, now: Instant) -> Vec<Parked> {
        self.last_sweep = Some(now);
        let mut expired = Vec::new();
        self.by_origin.retain(|_, shelf| {
            expired.extend(shelf.extract_if(.., |parked| !parked.is_fresh(now)));
            !shelf.is_empty()
        });
        self.count -= expired.len();
        expired
    }
}

/// The outermost connector: a parked connection if there is one, else a new one.
pub(super) struct ReusingConnector {
    store: Arc<IdleStore>,
    tls: RustlsConnector,
}

impl ReusingConnector {
    /// A connector that takes from and returns to `store`.
    pub(super) fn new(store: Arc<IdleStore>) -> Self {
        ReusingConnector { store, tls: RustlsConnector::default() }
    }

    fn open(&self, details: &ConnectionDetails) -> Result<Parked, Error> {
        let socket = Dialer.connect(details, None)?;
        let transport: Box<dyn Transport> = match self.tls.connect(details, socket)? {
            Some(connection) => Box::new(connection),
            None => return Err(Error::ConnectionFailed),
        };
        let now = Instant::now();
        Ok(Parked { transport, born: now, since: now })
    }
}

impl Connector<()> for ReusingConnector {
    type Out = Leased;

    fn connect(&self, details: &ConnectionDetails, _: Option<()>) -> Result<Option<Leased>, Error> {
        let origin = origin(details.uri).ok_or(Error::ConnectionFailed)?;
        let parked = match self.store.take(&origin, Instant::now()) {
            Some(parked) => {
                attempt::update(|attempt| attempt.reused = true);
                parked
            }
            None => self.open(details)?,
        };
        attempt::enter(Phase::Send);
        Ok(Some(Leased { store: self.store.clone(), origin, parked, reusable: false }))
    }
}

impl fmt::Debug for ReusingConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReusingConnector")
    }
}

/// Scheme and authority of an absolute URI.
pub(super) fn origin(uri: &Uri) -> Option<Origin> {
    Some((uri.scheme()?.clone(), uri.authority()?.clone()))
}

/// A connection in use. Notes in the running attempt how far the exchange got.
pub(super) struct Leased {
    store: Arc<IdleStore>,
    origin: Origin,
    parked: Parked,
    reusable: bool,
}

impl Transport for Leased {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.parked.transport.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.reusable = false;
        attempt::update(|attempt| attempt.sent = true);
        self.parked.transport.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.reusable = false;
        attempt::update(|attempt| {
            if attempt.phase == Phase::Send {
                attempt.phase = Phase::Wait;
            }
        });
        let outcome = self.parked.transport.await_input(timeout);
        attempt::update(|attempt| match &outcome {
            Ok(more) => attempt.answered |= more,
            Err(Error::Io(error)) => attempt.read_error = Some(error.kind()),
            Err(_) => {}
        });
        outcome
    }

    fn is_open(&mut self) -> bool {
        self.reusable = self.parked.transport.is_open();
        self.reusable
    }

    fn is_tls(&self) -> bool {
        self.parked.transport.is_tls()
    }
}

impl Drop for Leased {
    fn drop(&mut self) {
        if self.reusable {
            let transport = mem::replace(&mut self.parked.transport, Box::new(()));
            let parked = Parked { transport, born: self.parked.born, since: Instant::now() };
            self.store.park(self.origin.clone(), parked);
        }
    }
}

impl fmt::Debug for Leased {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leased").field("reusable", &self.reusable).finish_non_exhaustive()
    }
}
