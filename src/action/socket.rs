//! A TCP connection as ureq's transport, bound by the deadline of the running attempt.
//!
//! Compared with ureq's own: a whole small request is one `send`; the socket timeouts are left
//! alone as long as they are not longer than the time left (two system calls less per request);
//! the probe before reuse is one call; and a receiver that answers early and stops reading (413)
//! is heard.
//!
//! Must never block beyond the deadline, whatever trickles in or out.

use std::io::{self, ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::time::Duration;

use socket2::SockRef;
use ureq::Error;
use ureq::unversioned::transport::{Buffers, NextTimeout, Transport};

use super::attempt;
use super::buffers::{ConnectionBuffers, HEADER_LIMIT, INPUT_LIMIT};

/// One open connection.
#[derive(Debug)]
pub(super) struct Socket {
    stream: TcpStream,
    buffers: ConnectionBuffers,
    read_wait: Duration,
    write_wait: Duration,
    write_error: Option<io::Error>,
}

impl Socket {
    /// Takes over a connected stream in blocking mode.
    pub(super) fn new(stream: TcpStream) -> Self {
        Socket {
            stream,
            buffers: ConnectionBuffers::default(),
            read_wait: Duration::ZERO,
            write_wait: Duration::ZERO,
            write_error: None,
        }
    }

    /// Writes what is held. An error of the peer's making is kept until the answer has been looked
    /// for: a receiver may refuse a large body and close before it has read it all.
    fn flush(&mut self) -> Result<(), Error> {
        let mut from = 0;
        while self.write_error.is_none() && from < self.buffers.held().len() {
            let left = attempt::remaining()?;
            if let Some(wait) = new_wait(self.write_wait, left) {
                self.stream.set_write_timeout(Some(wait))?;
                self.write_wait = wait;
            }
            match self.stream.write(self.buffers.held().get(from..).unwrap_or_default()) {
                Ok(written) => from += written,
                Err(error) if is_pause(&error) => self.write_wait = Duration::ZERO,
                Err(error) => self.write_error = Some(error),
            }
        }
        self.buffers.release();
        Ok(())
    }

    fn read_some(&mut self) -> Result<usize, Error> {
        loop {
            let left = attempt::remaining()?;
            if let Some(wait) = new_wait(self.read_wait, left) {
                self.stream.set_read_timeout(Some(wait))?;
                self.read_wait = wait;
            }
            let free = self.buffers.input_append_buf();
            if free.is_empty() {
                return Err(Error::LargeResponseHeader(INPUT_LIMIT, HEADER_LIMIT));
            }
            match self.stream.read(free) {
                Ok(read) => return Ok(read),
                Err(error) if is_pause(&error) => self.read_wait = Duration::ZERO,
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Transport for Socket {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), Error> {
        if self.buffers.hold(amount) {
            self.flush()?;
        }
        Ok(())
    }

    fn await_input(&mut self, _: NextTimeout) -> Result<bool, Error> {
        self.flush()?;
        let read = match (self.read_some(), self.write_error.take()) {
            (Ok(0) | Err(Error::Io(_)), Some(write_error)) => return Err(write_error.into()),
            (read, write_error) => {
                self.write_error = write_error;
                read?
            }
        };
        self.buffers.input_appended(read);
        Ok(read > 0)
    }

    /// Quiet and whole in both directions. Bytes or an end that nobody asked for mean closed.
    fn is_open(&mut self) -> bool {
        let mut byte = [MaybeUninit::uninit()];
        let quiet = SockRef::from(&self.stream)
            .recv_with_flags(&mut byte, libc::MSG_PEEK | libc::MSG_DONTWAIT)
            .is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        quiet && self.write_error.is_none() && self.buffers.is_drained()
    }
}

/// The socket timeout to set before waiting, or `None` if `set` will do: a wait that ends early
/// is repeated, one that ends late breaks the deadline. Rounded down, so that the next request
/// with the same limit finds it good enough.
fn new_wait(set: Duration, left: Duration) -> Option<Duration> {
    let keep = !set.is_zero() && set <= left;
    (!keep).then(|| (left - left / 16).max(Duration::from_millis(1)))
}

/// The socket timeout passed, or a signal came: nothing is wrong with the connection.
fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
