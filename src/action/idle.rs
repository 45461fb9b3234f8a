//! Connections that wait for their next request.
//!
//! Contract: [`IdleStore::take`] gives the connection of an origin that was used last, because that
//! one is the least likely to be closed by the peer. Probing and closing, which are system calls,
//! happen outside the lock.
//!
//! Must never give out a connection that the peer has closed, that has unread bytes, that has been
//! unused for [`MAX_IDLE`] or is older than [`MAX_AGE`] (so that a change of DNS is followed even
//! under constant traffic).

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ureq::http::uri::{Authority, Scheme, Uri};
use ureq::unversioned::transport::Transport;

/// Longest pause between two requests on one connection. Short, because most servers close
/// between 5 and 75 s, and a close that crosses a request costs an attempt.
const MAX_IDLE: Duration = Duration::from_secs(15);
/// Longest life of a connection.
const MAX_AGE: Duration = Duration::from_secs(60);

/// What a connection leads to, the user in the URL included.
pub(super) type Origin = (Scheme, Authority);

/// Scheme and authority of an absolute URI.
pub(super) fn origin(uri: &Uri) -> Option<Origin> {
    Some((uri.scheme()?.clone(), uri.authority()?.clone()))
}

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
