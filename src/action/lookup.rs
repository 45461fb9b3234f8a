//! Host names to addresses: a cache, and a few threads for the blocking system call.
//!
//! Contract: an answer is kept for [`KEEP`], a failure for [`KEEP_FAILURE`]; at most one look-up
//! per name is under way, however many wait for it; at most [`MAX_THREADS`] look-ups run, the
//! others queue. Whoever waits does so only until the deadline of its own attempt; the look-up
//! then goes on alone and its answer is kept for the next.
//!
//! Must never let a name that hangs keep a second thread, or block a name that is known.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ureq::Error;

use super::{attempt, threads};

/// Time an answer is used: short enough that a move of a host is followed.
const KEEP: Duration = Duration::from_secs(30);
/// Time a failure is used: it spares the resolver a storm, no more.
const KEEP_FAILURE: Duration = Duration::from_secs(1);
/// Look-ups at the same time.
pub(super) const MAX_THREADS: usize = 64;

/// Names remembered before expired ones are thrown out.
const SWEEP_AT: usize = 1024;
/// Idle time after which a look-up thread leaves.
const LINGER: Duration = Duration::from_secs(5);

/// The blocking look-up; replaced in tests.
pub(super) type Lookup = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

/// Asks the system (`getaddrinfo`): hosts file, DNS and whatever else it is set up for.
pub(super) fn system() -> Lookup {
    Arc::new(|host| Ok((host, 0).to_socket_addrs()?.map(|address| address.ip()).collect()))
}

enum Entry {
    Pending,
    Known(Arc<[IpAddr]>, Instant),
    Failed(String, Instant),
}

impl Entry {
    fn is_expired(&self, now: Instant) -> bool {
        match self {
            Entry::Pending => false,
            Entry::Known(_, until) | Entry::Failed(_, until) => *until <= now,
        }
    }
}

/// Names known or being looked up.
#[derive(Clone)]
pub(super) struct Names(Arc<Inner>);

struct Inner {
    lookup: Lookup,
    keep: Duration,
    state: Mutex<State>,
    answered: Condvar,
    asked: Condvar,
}

#[derive(Default)]
struct State {
    entries: HashMap<String, Entry>,
    /// Names no thread has taken up yet. The newest is served first: in a jam, those who asked for
    /// the oldest have given up.
    queue: Vec<String>,
    threads: usize,
    idle: usize,
}

impl Names {
    /// An empty cache in front of `lookup`.
    pub(super) fn new(lookup: Lookup) -> Self {
        Names::keeping(lookup, KEEP)
    }

    /// An empty cache that keeps answers for `keep`.
    pub(super) fn keeping(lookup: Lookup, keep: Duration) -> Self {
        Names(Arc::new(Inner {
            lookup,
            keep,
            state: Mutex::default(),
            answered: Condvar::new(),
            asked: Condvar::new(),
        }))
    }

    /// Addresses of `host`, at least one, in the order the system prefers.
    ///
    /// # Errors
    /// [`Error::Timeout`] at the attempt's deadline; [`Error::Io`] with the system's reason, or if
    /// no thread can be had.
    pub(super) fn resolve(&self, host: &str) -> Result<Arc<[IpAddr]>, Error> {
        let mut state = self.0.lock();
        loop {
            let now = Instant::now();
            match state.entries.get(host) {
                Some(Entry::Known(addresses, until)) if *until > now => return Ok(addresses.clone()),
                Some(Entry::Failed(why, until)) if *until > now => {
                    return Err(io::Error::other(why.clone()).into());
                }
                Some(Entry::Pending) => {}
                _ => self.ask(&mut state, host, now)?,
            }
            let left = attempt::remaining()?;
            let woken = self.0.answered.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn ask(&self, state: &mut State, host: &str, now: Instant) -> io::Result<()> {
        if state.idle <= state.queue.len() && state.threads < MAX_THREADS {
            let inner = self.0.clone();
            match threads::spawn("rea lookup", threads::LOOKUP_STACK, move || inner.serve()) {
                Ok(()) => state.threads += 1,
                Err(error) if state.threads == 0 => return Err(error),
                Err(_) => {}
            }
        }
        if state.entries.len() >= SWEEP_AT {
            state.entries.retain(|_, entry| !entry.is_expired(now));
        }
        state.entries.insert(host.to_owned(), Entry::Pending);
        state.queue.push(host.to_owned());
        self.0.asked.notify_one();
        Ok(())
    }

    /// Look-up threads alive.
    #[cfg(test)]
    pub(super) fn threads(&self) -> usize {
        self.0.lock().threads
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self) {
        while let Some(host) = self.next() {
            let outcome = threads::catch(|| (self.lookup)(&host));
            let now = Instant::now();
            let entry = match outcome {
                Ok(Ok(addresses)) if !addresses.is_empty() => Entry::Known(addresses.into(), now + self.keep),
                Ok(Ok(_)) => Entry::Failed("host name has no address".into(), now + KEEP_FAILURE),
                Ok(Err(error)) => Entry::Failed(error.to_string(), now + KEEP_FAILURE),
                Err(panic) => Entry::Failed(panic, now + KEEP_FAILURE),
            };
            self.lock().entries.insert(host, entry);
            self.answered.notify_all();
        }
    }

    /// The next name to look up; `None` after a quiet time, and the thread leaves.
    fn next(&self) -> Option<String> {
        let mut state = self.lock();
        loop {
            if let Some(host) = state.queue.pop() {
                return Some(host);
            }
            state.idle += 1;
            let (woken, quiet) = self.asked.wait_timeout(state, LINGER).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.idle -= 1;
            if quiet.timed_out() && state.queue.is_empty() {
                state.threads -= 1;
                return None;
            }
        }
    }
}
