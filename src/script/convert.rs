//! Values that JSON knows and Luau does not: null, empty arrays, exact numbers.
//!
//! Null is a light userdata (`rea.null`), an array carries a metatable that marks it (`rea.array`), and a number that an
//! f64 would change is a userdata that holds its text: it prints as that text, compares equal to the same value,
//! concatenates, and refuses arithmetic.

use super::{exact, library};
use mlua_sys as ffi;
use std::ffi::{CStr, c_char, c_int, c_void};

/// Deepest nesting of data, both ways.
pub(super) const MAX_DEPTH: usize = 500;
/// Tag of the userdata that holds an exact number.
const NUMBER_TAG: c_int = 7;
/// Where the registry keeps the metatable of arrays.
const ARRAY_MARK: &CStr = c"rea.array";

/// Prepares a new state.
pub(super) unsafe fn install(state: *mut ffi::lua_State) {
    // SAFETY: by the caller, under Vm::protected.
    unsafe {
        ffi::lua_createtable(state, 0, 1);
        ffi::lua_pushboolean(state, 0);
        ffi::lua_setfield(state, -2, c"__metatable".as_ptr());
        ffi::lua_setreadonly(state, -1, 1);
        ffi::lua_setfield(state, ffi::LUA_REGISTRYINDEX, ARRAY_MARK.as_ptr());

        ffi::lua_createtable(state, 0, 5);
        for (name, function) in [
            (c"__tostring", number_tostring as ffi::lua_CFunction),
            (c"__eq", number_equals),
            (c"__concat", number_concat),
        ] {
            library::push_function(state, name, function);
            ffi::lua_setfield(state, -2, name.as_ptr());
        }
        push_text(state, "rea.number");
        ffi::lua_setfield(state, -2, c"__type".as_ptr());
        ffi::lua_pushboolean(state, 0);
        ffi::lua_setfield(state, -2, c"__metatable".as_ptr());
        ffi::lua_setreadonly(state, -1, 1);
        ffi::lua_setuserdatametatable(state, NUMBER_TAG);
    }
}

/// Pushes a string.
pub(super) unsafe fn push_text(state: *mut ffi::lua_State, text: &str) {
    // SAFETY: by the caller.
    unsafe { push_bytes(state, text.as_bytes()) };
}

/// Pushes a string of any bytes.
pub(super) unsafe fn push_bytes(state: *mut ffi::lua_State, bytes: &[u8]) {
    // SAFETY: Luau copies the bytes.
    unsafe { ffi::lua_pushlstring_(state, bytes.as_ptr().cast::<c_char>(), bytes.len()) };
}

/// The bytes of the string at an index, which must stay on the stack while they are used; `None` if it is none.
pub(super) unsafe fn bytes_at<'a>(state: *mut ffi::lua_State, index: c_int) -> Option<&'a [u8]> {
    // SAFETY: strings do not move; the type is checked first, so nothing is converted in place.
    unsafe {
        if ffi::lua_type(state, index) != ffi::LUA_TSTRING {
            return None;
        }
        let mut length = 0;
        let start = ffi::lua_tolstring(state, index, &mut length);
        Some(std::slice::from_raw_parts(start.cast::<u8>(), length))
    }
}

/// Pushes JSON's null.
pub(super) unsafe fn push_null(state: *mut ffi::lua_State) {
    // SAFETY: by the caller.
    unsafe { ffi::lua_pushlightuserdata(state, std::ptr::null_mut()) };
}

/// Whether the value at an index is JSON's null.
pub(super) unsafe fn is_null(state: *mut ffi::lua_State, index: c_int) -> bool {
    // SAFETY: by the caller.
    unsafe {
        ffi::lua_type(state, index) == ffi::LUA_TLIGHTUSERDATA && ffi::lua_tolightuserdata(state, index).is_null()
    }
}

/// Marks the table on top as an array.
pub(super) unsafe fn mark_array(state: *mut ffi::lua_State) {
    // SAFETY: by the caller.
    unsafe {
        ffi::lua_getfield(state, ffi::LUA_REGISTRYINDEX, ARRAY_MARK.as_ptr());
        ffi::lua_setmetatable(state, -2);
    }
}

/// Whether the table at an index is marked as an array.
pub(super) unsafe fn is_marked_array(state: *mut ffi::lua_State, index: c_int) -> bool {
    // SAFETY: by the caller.
    unsafe {
        if ffi::lua_getmetatable(state, index) == 0 {
            return false;
        }
        ffi::lua_getfield(state, ffi::LUA_REGISTRYINDEX, ARRAY_MARK.as_ptr());
        let is_mark = ffi::lua_rawequal(state, -1, -2) != 0;
        ffi::lua_pop(state, 2);
        is_mark
    }
}

/// Pushes a JSON number: a Luau number if that says the same, an exact one if not.
pub(super) unsafe fn push_number(state: *mut ffi::lua_State, text: &str) {
    // SAFETY: by the caller; the userdata has room for the text.
    unsafe {
        match exact::as_f64(text) {
            Some(number) => ffi::lua_pushnumber(state, number),
            None => {
                let room = ffi::lua_newuserdatataggedwithmetatable(state, text.len(), NUMBER_TAG);
                std::ptr::copy_nonoverlapping(text.as_ptr().cast::<c_void>(), room, text.len());
            }
        }
    }
}

/// The text of the exact number at an index; `None` if it is none. Lives as long as the value is on the stack.
pub(super) unsafe fn exact_number_at<'a>(state: *mut ffi::lua_State, index: c_int) -> Option<&'a str> {
    // SAFETY: only push_number makes userdata of this tag, from a str of the userdata's size.
    unsafe {
        let start = ffi::lua_touserdatatagged(state, index, NUMBER_TAG);
        if start.is_null() {
            return None;
        }
        let length = ffi::lua_objlen(state, index);
        Some(std::str::from_utf8_unchecked(std::slice::from_raw_parts(start.cast::<u8>(), length)))
    }
}

unsafe extern "C-unwind" fn number_tostring(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: called by Luau.
    unsafe {
        push_text(state, exact_number_at(state, 1).unwrap_or_default());
        1
    }
}

unsafe extern "C-unwind" fn number_equals(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: called by Luau.
    unsafe {
        let same = match (exact_number_at(state, 1), exact_number_at(state, 2)) {
            (Some(one), Some(other)) => exact::same_value(one, other),
            _ => false,
        };
        ffi::lua_pushboolean(state, c_int::from(same));
        1
    }
}

unsafe extern "C-unwind" fn number_concat(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: called by Luau; with two strings, lua_concat calls no metamethod again.
    unsafe {
        for index in 1..=2 {
            ffi::luaL_tolstring_(state, index, std::ptr::null_mut());
        }
        ffi::lua_concat(state, 2);
        1
    }
}
