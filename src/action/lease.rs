//! Connections in use: taken from the idle store or opened, and brought back.
//!
//! ureq has a connection pool of its own, but one list and one lock for all hosts, walked several
//! times per request and probing under the lock. It is switched off (`max_idle_connections(0)`),
//! and the idle store stands in for it: ureq asks `is_open` exactly when a connection has served
//! its request whole and may be kept, and then drops it; the drop brings it back.
//!
//! Must never bring back a connection that was dropped in any other state.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::time::Instant;

use ureq::Error;
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, RustlsConnector, Transport};

use super::attempt::{self, Phase};
use super::connect::Dialer;
use super::idle::{self, IdleStore, Origin, Parked};

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
        let origin = idle::origin(details.uri).ok_or(Error::ConnectionFailed)?;
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
