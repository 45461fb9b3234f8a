//! `rea.kv` and `rea.config`.

use super::note;
use crate::script::kv::{self, KvError, MAX_VALUE_BYTES};
use crate::script::library::raise;
use crate::script::report::{Began, KvSet};
use crate::script::session::{Session, checkpoint};
use crate::script::{HostError, convert, decode, encode};
use mlua_sys as ffi;
use std::ffi::c_int;

/// The key at an index.
unsafe fn key(state: *mut ffi::lua_State, index: c_int) -> String {
    // SAFETY: called by the functions below.
    unsafe {
        match convert::bytes_at(state, index).ok_or(KvError::Key).and_then(kv::checked_key) {
            Ok(key) => key.to_owned(),
            Err(error) => raise(state, &error.to_string()),
        }
    }
}

/// `rea.kv.get(key)`: what this run has set, else what is stored; nil if there is nothing.
pub(super) unsafe extern "C-unwind" fn get(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: called by Luau, here and below.
    unsafe {
        checkpoint(state);
        let session = Session::of(state);
        let key = key(state, 1);
        let own = session.kv.borrow().get(&key);
        let found = match own {
            Some(value) => Ok(value),
            None => session.host.borrow_mut().kv_get(&key, session.left()),
        };
        answer(state, found, "key-value store")
    }
}

/// `rea.config(key)`: nil if there is nothing.
pub(super) unsafe extern "C-unwind" fn config(state: *mut ffi::lua_State) -> c_int {
    unsafe {
        checkpoint(state);
        let session = Session::of(state);
        let key = key(state, 1);
        let found = session.host.borrow_mut().config(&key, session.left());
        answer(state, found, "configuration")
    }
}

unsafe fn answer(state: *mut ffi::lua_State, found: Result<Option<String>, HostError>, of: &str) -> c_int {
    unsafe {
        checkpoint(state);
        match found {
            Ok(None) => ffi::lua_pushnil(state),
            Ok(Some(text)) => {
                if let Err(error) = decode::push(state, &text) {
                    raise(state, &format!("could not read the {of}: {error}"));
                }
            }
            Err(error) => raise(state, &format!("could not read the {of}: {error}")),
        }
        1
    }
}

/// `rea.kv.set(key, value [, ttlSeconds])`: nil removes the key.
pub(super) unsafe extern "C-unwind" fn set(state: *mut ffi::lua_State) -> c_int {
    unsafe {
        checkpoint(state);
        let session = Session::of(state);
        let key = key(state, 1);
        let ttl = match ffi::lua_type(state, 3) {
            kind if kind <= ffi::LUA_TNIL => None,
            _ => match kv::checked_ttl(ffi::luaL_checknumber(state, 3)) {
                Ok(ttl) => Some(ttl),
                Err(error) => raise(state, &error.to_string()),
            },
        };
        ffi::lua_settop(state, 2);
        let value = match ffi::lua_type(state, 2) {
            ffi::LUA_TNIL => None,
            _ => match encode::json(state, 2, MAX_VALUE_BYTES) {
                Ok(json) => Some(json),
                Err(error) => raise(state, &error.to_string()),
            },
        };
        let shown = value.clone().unwrap_or_else(|| "removed".to_owned());
        let taken = session.kv.borrow_mut().set(KvSet { key: key.clone(), value, ttl });
        if let Err(error) = taken {
            raise(state, &error.to_string());
        }
        note(session, "kv.set", &key, &shown, Began::now());
        0
    }
}
