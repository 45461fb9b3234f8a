//! One Luau state, from its making to its end.
//!
//! Every call into Luau that may raise an error happens under [`Vm::protected`]: an error that nobody catches would end
//! the process. Errors of Luau are C++ exceptions; they pass through the functions of this module, whose values are
//! dropped on the way.

use super::memory::{self, Memory};
use mlua_sys as ffi;
use std::ffi::{c_int, c_void};

/// A state; closed on drop.
pub(super) struct Vm {
    state: *mut ffi::lua_State,
    /// Its memory. Boxed: the state points to it.
    pub(super) memory: Box<Memory>,
}

impl Vm {
    /// An empty state; `None` if even that goes over the limit.
    pub(super) fn new(limit: usize) -> Option<Vm> {
        // Luau cannot clean up after a state that it could not begin (a null pointer in lua_newstate).
        let memory = Box::new(Memory::new(usize::MAX));
        let ud = std::ptr::from_ref(memory.as_ref()).cast_mut().cast::<c_void>();
        // SAFETY: the allocator keeps Luau's contract, and `memory` outlives the state.
        let state = unsafe { ffi::lua_newstate(memory::allocate, ud) };
        let vm = (!state.is_null()).then_some(Vm { state, memory })?;
        vm.memory.restrict(limit).then_some(vm)
    }

    /// Gives functions something to find by [`data`], and sets the function that is called at every step.
    pub(super) fn equip(&self, data: *mut c_void, step: unsafe extern "C-unwind" fn(*mut ffi::lua_State, c_int)) {
        // SAFETY: the state is alive; nothing of it runs.
        unsafe {
            let callbacks = ffi::lua_callbacks(self.state);
            (*callbacks).userdata = data;
            (*callbacks).interrupt = Some(step);
        }
    }

    /// Calls a function whose errors end here: its status is returned.
    pub(super) fn protected(&self, function: ffi::lua_CFunction, argument: *mut c_void) -> c_int {
        // SAFETY: the state is alive and not running; lua_cpcall catches what the function raises.
        unsafe {
            let status = ffi::lua_cpcall(self.state, function, argument);
            ffi::lua_settop(self.state, 0);
            status
        }
    }
}

impl Drop for Vm {
    fn drop(&mut self) {
        // SAFETY: made by lua_newstate, closed once.
        unsafe { ffi::lua_close(self.state) };
    }
}

/// What was given to [`Vm::equip`].
pub(super) unsafe fn data(state: *mut ffi::lua_State) -> *mut c_void {
    // SAFETY: by the caller, `state` is alive.
    unsafe { (*ffi::lua_callbacks(state)).userdata }
}
