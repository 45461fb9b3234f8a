//! The event descriptor that tells the main thread of completions.
//!
//! Must never block: the main thread waits on the descriptor together with its latch.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// An eventfd, closed on drop.
#[derive(Debug)]
pub(super) struct Wake(File);

impl Wake {
    /// A descriptor that is not readable yet.
    ///
    /// # Errors
    /// The system's, when no descriptor can be had.
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: eventfd takes no pointers; its result is checked below.
        let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` is open and belongs to nobody else.
        Ok(Wake(File::from(unsafe { OwnedFd::from_raw_fd(fd) })))
    }

    /// Makes the descriptor readable.
    pub(super) fn raise(&self) {
        // Fails only when the counter is full, and then it is readable already.
        let _ = (&self.0).write(&1u64.to_ne_bytes());
    }

    /// Makes it unreadable again.
    pub(super) fn clear(&self) {
        // Fails only when it was not readable.
        let _ = (&self.0).read(&mut [0; 8]);
    }

    /// The descriptor, to wait on.
    pub(super) fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
