//! The memory of one script: an allocator that counts, and refuses what would go over the limit.
//!
//! Once it has refused, it remembers: a script that swallows the error is ended at its next step.
//!
//! Must never hand out more than the limit, and never fail to give back.

use std::cell::Cell;
use std::ffi::c_void;

/// Counts of one script, in bytes.
#[derive(Debug)]
pub(super) struct Memory {
    limit: Cell<usize>,
    used: Cell<usize>,
    peak: Cell<usize>,
    refused: Cell<bool>,
}

impl Memory {
    /// Nothing used yet.
    pub(super) fn new(limit: usize) -> Memory {
        Memory { limit: Cell::new(limit), used: Cell::new(0), peak: Cell::new(0), refused: Cell::new(false) }
    }

    /// Sets the limit; `false` if more is in use already.
    pub(super) fn restrict(&self, limit: usize) -> bool {
        self.limit.set(limit);
        self.used.get() <= limit
    }

    /// Bytes in use.
    pub(super) fn used(&self) -> usize {
        self.used.get()
    }

    /// Most bytes in use at once.
    pub(super) fn peak(&self) -> usize {
        self.peak.get()
    }

    /// The limit.
    pub(super) fn limit(&self) -> usize {
        self.limit.get()
    }

    /// Whether something was refused.
    pub(super) fn refused(&self) -> bool {
        self.refused.get()
    }

    fn change(&self, old: usize, new: usize) -> bool {
        let used = self.used.get() - old + new;
        if new > old && used > self.limit.get() {
            self.refused.set(true);
            return false;
        }
        self.used.set(used);
        self.peak.set(self.peak.get().max(used));
        true
    }
}

/// Luau's allocation function; `ud` is a [`Memory`].
pub(super) unsafe extern "C" fn allocate(ud: *mut c_void, block: *mut c_void, old: usize, new: usize) -> *mut c_void {
    // SAFETY: `ud` is the Memory given to lua_newstate and outlives the state; Luau passes the true old size (and 0
    // with a null block). The blocks come from here.
    unsafe {
        let memory = &*ud.cast::<Memory>();
        let old = if block.is_null() { 0 } else { old };
        if new == 0 {
            memory.change(old, 0);
            libc::free(block);
            return std::ptr::null_mut();
        }
        if !memory.change(old, new) {
            return std::ptr::null_mut();
        }
        let moved = libc::realloc(block, new);
        if moved.is_null() {
            memory.change(new, old);
            memory.refused.set(true);
        }
        moved
    }
}
