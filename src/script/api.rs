//! The table `rea`: what a script may ask of the world.
//!
//! Every function first lets the run end if it is over, and does nothing then. Mistakes in arguments are errors with the
//! script's line; a request without an answer is `nil`, a text and a kind.

mod http;
mod store;

use super::convert;
use super::encode;
use super::exact;
use super::library::{self, MAX_TEXT, raise};
use super::report::Outcome;
use super::session::{self, Session, checkpoint};
use super::{decode, report};
use mlua_sys as ffi;
use std::ffi::{CStr, c_int};
use std::time::Duration;

/// Longest wait that `rea.retry` may ask for, in seconds: a year.
const MAX_RETRY_SECONDS: f64 = 31_536_000.0;
/// Code of `rea.fail` without one.
const DEFAULT_FAILURE: &str = "script_failed";

const FUNCTIONS: [(&CStr, ffi::lua_CFunction); 7] = [
    (c"http", http::http),
    (c"config", store::config),
    (c"log", log),
    (c"retry", retry),
    (c"fail", fail),
    (c"array", array),
    (c"number", number),
];

/// Makes the global `rea`.
pub(super) unsafe fn open(state: *mut ffi::lua_State) {
    // SAFETY: by the caller, under Vm::protected.
    unsafe {
        ffi::lua_createtable(state, 0, 12);
        for (name, function) in FUNCTIONS {
            library::push_function(state, name, function);
            ffi::lua_setfield(state, -2, name.as_ptr());
        }
        table(state, c"kv", &[(c"get", store::get), (c"set", store::set)]);
        table(state, c"json", &[(c"encode", json_encode), (c"decode", json_decode)]);
        convert::push_null(state);
        ffi::lua_setfield(state, -2, c"null".as_ptr());
        ffi::lua_setglobal(state, c"rea".as_ptr());
    }
}

unsafe fn table(state: *mut ffi::lua_State, name: &'static CStr, functions: &[(&'static CStr, ffi::lua_CFunction)]) {
    // SAFETY: see open.
    unsafe {
        ffi::lua_createtable(state, 0, 2);
        for (name, function) in functions {
            library::push_function(state, name, *function);
            ffi::lua_setfield(state, -2, name.as_ptr());
        }
        ffi::lua_setreadonly(state, -1, 1);
        ffi::lua_setfield(state, -2, name.as_ptr());
    }
}

/// A value as text: strings as they are, tables as JSON, others as Luau prints them. Cut at [`MAX_TEXT`].
pub(super) unsafe fn text_of(state: *mut ffi::lua_State, index: c_int) -> String {
    // SAFETY: by the caller; may run a `__tostring`.
    unsafe {
        let (index, top) = (ffi::lua_absindex(state, index), ffi::lua_gettop(state));
        let is_plain_table = ffi::lua_type(state, index) == ffi::LUA_TTABLE
            && ffi::luaL_getmetafield_(state, index, c"__tostring".as_ptr()) == 0;
        let json = is_plain_table.then(|| encode::json(state, index, MAX_TEXT));
        ffi::lua_settop(state, top);
        if let Some(Ok(json)) = json {
            return json;
        }
        ffi::luaL_tolstring_(state, index, std::ptr::null_mut());
        let bytes = convert::bytes_at(state, -1).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_TEXT)]).replace('\0', "\u{fffd}");
        ffi::lua_settop(state, top);
        text
    }
}

/// `rea.log([level,] message)`
unsafe extern "C-unwind" fn log(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: called by Luau, here and below.
    unsafe {
        checkpoint(state);
        let (level, index) = if ffi::lua_gettop(state) >= 2 {
            let known = ["debug", "info", "warning", "error"];
            let named = convert::bytes_at(state, 1).and_then(|name| known.into_iter().find(|l| l.as_bytes() == name));
            match named {
                Some(level) => (level, 2),
                None => raise(state, "level must be \"debug\", \"info\", \"warning\" or \"error\""),
            }
        } else {
            ("info", 1)
        };
        ffi::luaL_checkany(state, index);
        let text = text_of(state, index);
        Session::of(state).note_line(level, text);
        0
    }
}

/// `rea.retry(reason [, afterSeconds])`
unsafe extern "C-unwind" fn retry(state: *mut ffi::lua_State) -> c_int {
    unsafe {
        checkpoint(state);
        ffi::luaL_checkany(state, 1);
        let reason = text_of(state, 1);
        let after = match ffi::lua_type(state, 2) {
            kind if kind <= ffi::LUA_TNIL => None,
            _ => Some(ffi::luaL_checknumber(state, 2)),
        };
        if after.is_some_and(|seconds| !(0.0..=MAX_RETRY_SECONDS).contains(&seconds)) {
            raise(state, "seconds must be between 0 and 31536000");
        }
        let after = after.map(Duration::from_secs_f64);
        Session::of(state).end(Outcome::Retry { reason, after });
        session::halt(state)
    }
}

/// `rea.fail(reason [, code])`
unsafe extern "C-unwind" fn fail(state: *mut ffi::lua_State) -> c_int {
    unsafe {
        checkpoint(state);
        ffi::luaL_checkany(state, 1);
        let reason = text_of(state, 1);
        let code = match ffi::lua_type(state, 2) {
            kind if kind <= ffi::LUA_TNIL => DEFAULT_FAILURE.to_owned(),
            _ => String::from_utf8_lossy(convert::bytes_at(state, 2).unwrap_or_default()).into_owned(),
        };
        if !is_code(&code) {
            raise(state, "code must be a name of at most 64 lower-case letters, digits and underscores");
        }
        Session::of(state).end(Outcome::Fail { code, reason });
        session::halt(state)
    }
}

fn is_code(code: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    code.len() <= 64 && code.starts_with(|c: char| c.is_ascii_lowercase()) && code.chars().all(inner)
}

/// `rea.array(table)` marks it as an array and returns it.
unsafe extern "C-unwind" fn array(state: *mut ffi::lua_State) -> c_int {
    unsafe {
        checkpoint(state);
        ffi::luaL_checktype(state, 1, ffi::LUA_TTABLE);
        ffi::lua_settop(state, 1);
        if convert::is_marked_array(state, 1) {
            return 1;
        }
        if ffi::lua_getreadonly(state, 1) != 0 || ffi::lua_getmetatable(state, 1) != 0 {
            raise(state, "a table that is frozen or has a metatable cannot be marked as an array");
        }
        convert::mark_array(state);
        1
    }
}

/// `rea.number(text)`: the number as exactly as it stands.
unsafe extern "C-unwind" fn number(state: *mut ffi::lua_State) -> c_int {
    unsafe {
        checkpoint(state);
        let text = convert::bytes_at(state, 1).and_then(|bytes| std::str::from_utf8(bytes).ok());
        match text.filter(|text| exact::is_json_number(text)) {
            Some(text) => convert::push_number(state, text),
            None => raise(state, "text must be a decimal number as JSON writes it"),
        }
        1
    }
}

/// `rea.json.encode(value)`
unsafe extern "C-unwind" fn json_encode(state: *mut ffi::lua_State) -> c_int {
    unsafe {
        checkpoint(state);
        match encode::json(state, 1, Session::of(state).memory.limit() / 4) {
            Ok(text) => convert::push_text(state, &text),
            Err(error) => raise(state, &error.to_string()),
        }
        1
    }
}

/// `rea.json.decode(text)`
unsafe extern "C-unwind" fn json_decode(state: *mut ffi::lua_State) -> c_int {
    unsafe {
        checkpoint(state);
        let text = convert::bytes_at(state, 1).and_then(|bytes| std::str::from_utf8(bytes).ok());
        let Some(text) = text else { raise(state, "text must be a string of valid UTF-8") };
        if let Err(error) = decode::push(state, text) {
            raise(state, &format!("text is no JSON: {error}"));
        }
        1
    }
}

/// Only for the two modules below: notes a call that has ended.
fn note(session: &Session<'_>, kind: &'static str, target: &str, result: &str, from: report::Began) {
    session.note_call(kind, target, result, from.at, from.clock.elapsed());
}
