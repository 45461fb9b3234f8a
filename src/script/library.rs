//! What of Luau's library a script finds, and the functions that are stricter than Luau's own.
//!
//! Luau calls [`super::session::step`] in loops, calls and pattern matches, but not inside its other library functions.
//! Each of those must therefore end soon for any argument that fits into memory. The ones that would not, because their
//! work grows with the product of two sizes or with a number, are wrapped here.

use super::convert;
use super::session::{self, Session};
use mlua_sys as ffi;
use std::ffi::{CStr, c_char, c_int};

/// Work that a library function may do between two steps: character comparisons, below half a second.
const MAX_WORK: u64 = 1 << 28;
/// Elements that `table.move` may move at once.
const MAX_MOVE: f64 = 4_194_304.0;
/// Numbers that `table.sort` sorts without a function of Luau.
const MAX_PLAIN_SORT: c_int = 100_000;

/// Libraries that are opened.
const LIBRARIES: [(&CStr, ffi::lua_CFunction); 10] = [
    (c"", ffi::luaopen_base),
    (c"coroutine", ffi::luaopen_coroutine),
    (c"table", ffi::luaopen_table),
    (c"os", ffi::luaopen_os),
    (c"string", ffi::luaopen_string),
    (c"math", ffi::luaopen_math),
    (c"debug", ffi::luaopen_debug),
    (c"utf8", ffi::luaopen_utf8),
    (c"bit32", ffi::luaopen_bit32),
    (c"buffer", ffi::luaopen_buffer),
];

/// What is taken away again: ways to other functions' environments, to finalizers and to internals.
const REMOVED: [&CStr; 6] = [c"getfenv", c"setfenv", c"newproxy", c"gcinfo", c"_G", c"print"];

/// Members that are wrapped: library, name, wrapper. A wrapper finds the original as its upvalue.
const WRAPPED: [(&CStr, &CStr, ffi::lua_CFunction); 7] = [
    (c"string", c"find", find),
    (c"string", c"match", pattern),
    (c"string", c"gmatch", pattern),
    (c"string", c"gsub", pattern),
    (c"string", c"split", pattern),
    (c"table", c"move", move_elements),
    (c"table", c"sort", sort),
];

/// Comparators for `table.sort` in Luau, where every call is a step.
const SORT: &str = "return function(a, b) return a < b end, function(f) return function(a, b) return f(a, b) end end";

/// Opens the libraries and takes away what a script shall not have.
pub(super) unsafe fn open(state: *mut ffi::lua_State) {
    // SAFETY: by the caller, under Vm::protected.
    unsafe {
        for (name, open) in LIBRARIES {
            ffi::lua_pushcclosurek(state, open, std::ptr::null(), 0, None);
            ffi::lua_pushstring_(state, name.as_ptr());
            ffi::lua_call(state, 1, 0);
        }
        for name in REMOVED {
            ffi::lua_pushnil(state);
            ffi::lua_setglobal(state, name.as_ptr());
        }
        ffi::lua_getglobal(state, c"debug".as_ptr());
        ffi::lua_pushnil(state);
        ffi::lua_setfield(state, -2, c"info".as_ptr());
        ffi::lua_settop(state, 0);
        for (library, name, wrapper) in WRAPPED {
            ffi::lua_getglobal(state, library.as_ptr());
            ffi::lua_getfield(state, -1, name.as_ptr());
            ffi::lua_pushcclosurek(state, wrapper, name.as_ptr(), 1, None);
            ffi::lua_setfield(state, -2, name.as_ptr());
            ffi::lua_settop(state, 0);
        }
        push_function(state, c"print", print);
        ffi::lua_setglobal(state, c"print".as_ptr());
        comparators(state);
    }
}

/// Puts the comparators where `sort` finds them.
unsafe fn comparators(state: *mut ffi::lua_State) {
    // SAFETY: see open.
    unsafe {
        let bytecode = ffi::luau_compile(SORT.as_bytes(), ffi::lua_CompileOptions::default());
        let loaded = ffi::luau_load(state, c"=sort".as_ptr(), bytecode.as_ptr().cast::<c_char>(), bytecode.len(), 0);
        if loaded != 0 {
            ffi::lua_error(state);
        }
        ffi::lua_call(state, 0, 2);
        ffi::lua_setfield(state, ffi::LUA_REGISTRYINDEX, c"rea.wrap".as_ptr());
        ffi::lua_setfield(state, ffi::LUA_REGISTRYINDEX, c"rea.less".as_ptr());
    }
}

/// Pushes a function of ours under its name.
pub(super) unsafe fn push_function(state: *mut ffi::lua_State, name: &'static CStr, function: ffi::lua_CFunction) {
    // SAFETY: the name is static.
    unsafe { ffi::lua_pushcclosurek(state, function, name.as_ptr(), 0, None) };
}

/// Raises an error with the script's place in front.
pub(super) unsafe fn raise(state: *mut ffi::lua_State, message: &str) -> ! {
    // SAFETY: by the caller.
    unsafe {
        ffi::lua_rawcheckstack(state, 4);
        ffi::luaL_where(state, 1);
        convert::push_text(state, message);
        ffi::lua_concat(state, 2);
        ffi::lua_error(state)
    }
}

/// Goes on with the function that is wrapped, in the same frame.
unsafe fn original(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: the upvalue is a function of Luau's library that has no upvalues of its own.
    unsafe {
        match ffi::lua_tocfunction(state, ffi::lua_upvalueindex(1)) {
            Some(function) => function(state),
            None => 0,
        }
    }
}

unsafe fn text_argument<'a>(state: *mut ffi::lua_State, index: c_int) -> &'a [u8] {
    // SAFETY: raises if it is no string; a string stays where it is.
    unsafe {
        let mut length = 0;
        let start = ffi::luaL_checklstring(state, index, &mut length);
        std::slice::from_raw_parts(start.cast::<u8>(), length)
    }
}

/// One element of a pattern may be compared with every character of the text, and between two steps.
unsafe extern "C-unwind" fn pattern(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: called by Luau.
    unsafe {
        let text = text_argument(state, 1);
        if ffi::lua_type(state, 2) > ffi::LUA_TNIL {
            let pattern = text_argument(state, 2);
            if (text.len() as u64) * (pattern.len() as u64) > MAX_WORK {
                raise(state, "text and pattern are too long for each other");
            }
        }
        original(state)
    }
}

/// `string.find`: without special characters in time that grows with the length only.
unsafe extern "C-unwind" fn find(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: called by Luau.
    unsafe {
        let (text, wanted) = (text_argument(state, 1), text_argument(state, 2));
        let plain = ffi::lua_toboolean(state, 4) != 0 || !wanted.iter().any(|byte| b"^$*+?.([%-".contains(byte));
        if !plain {
            return pattern(state);
        }
        let from = i64::from(ffi::luaL_optinteger_(state, 3, 1));
        let from = if from < 0 { from + text.len() as i64 + 1 } else { from };
        let from = (from.max(1) - 1) as usize;
        let found = text.get(from..).and_then(|rest| memchr::memmem::find(rest, wanted));
        match found {
            Some(at) => {
                ffi::lua_pushnumber(state, (from + at + 1) as f64);
                ffi::lua_pushnumber(state, (from + at + wanted.len()) as f64);
                2
            }
            None => {
                ffi::lua_pushnil(state);
                1
            }
        }
    }
}

unsafe extern "C-unwind" fn move_elements(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: called by Luau.
    unsafe {
        if ffi::luaL_checknumber(state, 3) - ffi::luaL_checknumber(state, 2) > MAX_MOVE {
            raise(state, "too many elements to move");
        }
        original(state)
    }
}

/// `table.sort`: what is not short is compared by a function of Luau, because comparing two values may take long.
unsafe extern "C-unwind" fn sort(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: called by Luau.
    unsafe {
        ffi::luaL_checktype(state, 1, ffi::LUA_TTABLE);
        ffi::lua_settop(state, 2);
        if ffi::lua_type(state, 2) == ffi::LUA_TNIL {
            if !is_short_and_numeric(state) {
                ffi::lua_getfield(state, ffi::LUA_REGISTRYINDEX, c"rea.less".as_ptr());
                ffi::lua_replace(state, 2);
            }
        } else if ffi::lua_iscfunction(state, 2) != 0 {
            ffi::lua_getfield(state, ffi::LUA_REGISTRYINDEX, c"rea.wrap".as_ptr());
            ffi::lua_insert(state, 2);
            ffi::lua_call(state, 1, 1);
        }
        original(state)
    }
}

unsafe fn is_short_and_numeric(state: *mut ffi::lua_State) -> bool {
    // SAFETY: see sort.
    unsafe {
        let length = ffi::lua_objlen_(state, 1);
        length <= MAX_PLAIN_SORT
            && (1..=length).all(|index| {
                let kind = ffi::lua_rawgeti_(state, 1, index);
                ffi::lua_pop(state, 1);
                kind == ffi::LUA_TNUMBER
            })
    }
}

/// `print` is a log line.
unsafe extern "C-unwind" fn print(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: called by Luau.
    unsafe {
        session::checkpoint(state);
        let mut line = String::new();
        for index in 1..=ffi::lua_gettop(state) {
            ffi::luaL_tolstring_(state, index, std::ptr::null_mut());
            let text = convert::bytes_at(state, -1).unwrap_or_default();
            if index > 1 {
                line.push('\t');
            }
            line.push_str(&String::from_utf8_lossy(&text[..text.len().min(MAX_TEXT)]));
            ffi::lua_pop(state, 1);
            if line.len() > MAX_TEXT {
                break;
            }
        }
        Session::of(state).note_line("info", line.replace('\0', "\u{fffd}"));
        0
    }
}

/// Bytes of a text that a log line takes.
pub(super) const MAX_TEXT: usize = 8 * 1024;
