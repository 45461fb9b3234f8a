//! Room for sockets: the process's limit on open files.
//!
//! PostgreSQL counts only the files it opens itself, so sockets of threads can take the descriptors
//! it needs to read its own tables. The soft limit is raised as far as the hard one allows, and
//! what is left to the server is never used.

use std::mem::MaybeUninit;

/// Descriptors left to the server: tables, WAL, latches, libraries.
const RESERVED: usize = 256;

/// How many of `wanted` sockets this process may have open, after raising the soft limit if that
/// is needed and allowed. At least 1.
pub(super) fn room_for(wanted: usize) -> usize {
    let Some(mut limit) = read() else { return wanted };
    let needed = wanted.saturating_add(RESERVED) as libc::rlim_t;
    if limit.rlim_cur < needed {
        limit.rlim_cur = needed.min(limit.rlim_max);
        // SAFETY: `limit` is a valid rlimit for the time of the call.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
    }
    let open = read().map_or(0, |limit| limit.rlim_cur).min(usize::MAX as libc::rlim_t) as usize;
    open.saturating_sub(RESERVED).clamp(1, wanted.max(1))
}

fn read() -> Option<libc::rlimit> {
    let mut limit = MaybeUninit::uninit();
    // SAFETY: `limit` is valid for writes and initialised when the call returns 0.
    unsafe { (libc::getrlimit(libc::RLIMIT_NOFILE, limit.as_mut_ptr()) == 0).then(|| limit.assume_init()) }
}
