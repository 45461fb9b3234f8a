//! Threads inside a PostgreSQL process.
//!
//! Contract: a thread started here gets no signal (the server's handlers may run on the main
//! thread only), has a small stack, and never prints: a panic in it is caught and becomes text.
//!
//! Must never be joined on shutdown: the process exits under it.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::io;
use std::mem::MaybeUninit;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::thread;

/// Stack of a thread that performs requests, bytes. A TLS handshake with a certificate check was
/// measured at under 64 kB (128 kB without optimisation).
pub(super) const REQUEST_STACK: usize = 256 * 1024;
/// Stack of a thread that looks up names, bytes: the C library loads what `nsswitch.conf` names.
pub(super) const LOOKUP_STACK: usize = 1024 * 1024;

thread_local! {
    /// Panics of this thread are not printed.
    static QUIET: Cell<bool> = const { Cell::new(false) };
    /// Where the last panic of this thread began.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Starts a detached thread with a stack of `stack` bytes.
///
/// # Errors
/// The system's, when no further thread can be had.
pub(super) fn spawn(name: &str, stack: usize, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    install_hook();
    let _blocked = BlockedSignals::all();
    thread::Builder::new()
        .name(name.into())
        .stack_size(stack)
        .spawn(move || {
            QUIET.set(true);
            body();
        })
        .map(drop)
}

/// Runs `work`; a panic in it comes back as place and text.
pub(super) fn catch<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let place = PLACE.take().unwrap_or_else(|| "unknown place".into());
        format!("panic at {place}: {}", text_of(payload.as_ref()))
    })
}

fn text_of(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text")
}

/// Puts a hook in front of the present one that swallows panics of the threads started here.
fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if QUIET.get() {
                PLACE.set(info.location().map(ToString::to_string));
            } else {
                previous(info);
            }
        }));
    });
}

/// All signals blocked in this thread, and so in threads it starts; undone on drop.
struct BlockedSignals(Option<libc::sigset_t>);

impl BlockedSignals {
    fn all() -> Self {
        let mut all = MaybeUninit::uninit();
        let mut before = MaybeUninit::uninit();
        // SAFETY: both sets are valid for writes; sigfillset initialises the first before it is
        // read, pthread_sigmask the second if it returns 0.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            let failed = libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            BlockedSignals((failed == 0).then(|| before.assume_init()))
        }
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // SAFETY: `before` was filled by pthread_sigmask; the old set is not asked for.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, std::ptr::null_mut()) };
        }
    }
}
