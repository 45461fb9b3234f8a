//! `rea.http{…}`: the request is read and checked here, the host performs it.

use super::note;
use crate::script::library::raise;
use crate::script::report::Began;
use crate::script::session::{Session, checkpoint};
use crate::script::{HttpFailure, HttpRequest, HttpResponse, convert, decode, encode};
use mlua_sys as ffi;
use std::ffi::c_int;
use std::time::Duration;

const KEYS: [&str; 5] = ["method", "url", "headers", "body", "timeoutMs"];

/// `rea.http(request)` gives `{status, headers, body, cut}`, or `nil`, a text and the kind of the failure.
pub(super) unsafe extern "C-unwind" fn http(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: called by Luau.
    unsafe {
        checkpoint(state);
        ffi::luaL_checktype(state, 1, ffi::LUA_TTABLE);
        ffi::lua_settop(state, 1);
        let session = Session::of(state);
        let request = match read(state, session) {
            Ok(request) => request,
            Err(problem) => raise(state, &problem),
        };
        let target = format!("{} {}", request.method, shown(&request.url));
        let began = Began::now();
        let answer = session.host.borrow_mut().http(request);
        match &answer {
            Ok(response) => note(session, "http", &target, &format!("{}", response.status), began),
            Err(failure) => note(session, "http", &target, &format!("{}: {failure}", failure.kind), began),
        }
        checkpoint(state);
        match answer {
            Ok(response) => push(state, &response),
            Err(failure) => push_failure(state, &failure),
        }
    }
}

/// A URL without what may be secret: user, query, fragment.
fn shown(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            format!("{scheme}://{}{path}", authority.rsplit('@').next().unwrap_or_default())
        }
        None => url.to_owned(),
    }
}

/// The table at 1 as a request.
unsafe fn read(state: *mut ffi::lua_State, session: &Session<'_>) -> Result<HttpRequest, String> {
    // SAFETY: see http.
    unsafe {
        refuse_unknown(state)?;
        let url = field(state, "url")?.ok_or("url is missing")?;
        let (body, is_json) = body(state, session)?;
        let method = field(state, "method")?.unwrap_or_else(|| if body.is_some() { "POST" } else { "GET" }.to_owned());
        let mut headers = headers(state)?;
        if is_json && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        headers.sort();
        let timeout = timeout(state)?.map_or(session.left(), |timeout| timeout.min(session.left()));
        Ok(HttpRequest { method: method.to_ascii_uppercase(), url, headers, body, timeout })
    }
}

unsafe fn refuse_unknown(state: *mut ffi::lua_State) -> Result<(), String> {
    let mut place = 0;
    // SAFETY: see http.
    unsafe {
        loop {
            place = ffi::lua_rawiter(state, 1, place);
            if place < 0 {
                return Ok(());
            }
            let key = convert::bytes_at(state, -2).map(String::from_utf8_lossy).unwrap_or_default();
            if !KEYS.contains(&key.as_ref()) {
                return Err(format!("unknown member \"{key}\"; a request has {}", KEYS.join(", ")));
            }
            ffi::lua_pop(state, 2);
        }
    }
}

/// Pushes a member of the table at 1.
unsafe fn get(state: *mut ffi::lua_State, name: &str) -> c_int {
    // SAFETY: see http.
    unsafe {
        convert::push_text(state, name);
        ffi::lua_rawget(state, 1)
    }
}

unsafe fn field(state: *mut ffi::lua_State, name: &str) -> Result<Option<String>, String> {
    // SAFETY: see http.
    unsafe {
        if get(state, name) == ffi::LUA_TNIL {
            return Ok(None);
        }
        text(state, name).map(Some)
    }
}

/// The string or number on top.
unsafe fn text(state: *mut ffi::lua_State, name: &str) -> Result<String, String> {
    // SAFETY: see http.
    unsafe {
        let kind = ffi::lua_type(state, -1);
        if kind != ffi::LUA_TSTRING && kind != ffi::LUA_TNUMBER && convert::exact_number_at(state, -1).is_none() {
            return Err(format!("{name} must be a string"));
        }
        ffi::luaL_tolstring_(state, -1, std::ptr::null_mut());
        let bytes = convert::bytes_at(state, -1).unwrap_or_default();
        let text = std::str::from_utf8(bytes).map_err(|_| format!("{name} is not valid UTF-8"))?;
        Ok(text.to_owned())
    }
}

/// The body, and whether it was made into JSON.
unsafe fn body(state: *mut ffi::lua_State, session: &Session<'_>) -> Result<(Option<String>, bool), String> {
    // SAFETY: see http.
    unsafe {
        match get(state, "body") {
            ffi::LUA_TNIL => Ok((None, false)),
            ffi::LUA_TSTRING => Ok((Some(text(state, "body")?), false)),
            _ => {
                let json = encode::json(state, -1, session.memory.limit() / 4);
                json.map(|json| (Some(json), true)).map_err(|error| format!("body: {error}"))
            }
        }
    }
}

unsafe fn headers(state: *mut ffi::lua_State) -> Result<Vec<(String, String)>, String> {
    let mut headers = Vec::new();
    // SAFETY: see http.
    unsafe {
        match get(state, "headers") {
            ffi::LUA_TNIL => return Ok(headers),
            ffi::LUA_TTABLE => {}
            _ => return Err("headers must be a table of strings".to_owned()),
        }
        let (table, mut place) = (ffi::lua_gettop(state), 0);
        loop {
            place = ffi::lua_rawiter(state, table, place);
            if place < 0 {
                return Ok(headers);
            }
            let name = convert::bytes_at(state, -2).and_then(|name| std::str::from_utf8(name).ok());
            let name = name.ok_or("headers must be a table of strings")?.to_owned();
            let value = text(state, &format!("header {name}"))?;
            ffi::lua_settop(state, table);
            headers.push((name, value));
        }
    }
}

unsafe fn timeout(state: *mut ffi::lua_State) -> Result<Option<Duration>, String> {
    // SAFETY: see http.
    unsafe {
        if get(state, "timeoutMs") == ffi::LUA_TNIL {
            return Ok(None);
        }
        let millis = if ffi::lua_type(state, -1) == ffi::LUA_TNUMBER { ffi::lua_tonumber(state, -1) } else { 0.0 };
        if !(1.0..=86_400_000.0).contains(&millis) {
            return Err("timeoutMs must be a number between 1 and 86400000".to_owned());
        }
        Ok(Some(Duration::from_millis(millis as u64)))
    }
}

unsafe fn push(state: *mut ffi::lua_State, response: &HttpResponse) -> c_int {
    // SAFETY: see http.
    unsafe {
        ffi::lua_settop(state, 0);
        ffi::lua_createtable(state, 0, 4);
        ffi::lua_pushnumber(state, f64::from(response.status));
        ffi::lua_setfield(state, -2, c"status".as_ptr());
        ffi::lua_createtable(state, 0, 0);
        for (name, value) in &response.headers {
            convert::push_text(state, name);
            convert::push_text(state, value);
            ffi::lua_rawset(state, -3);
        }
        ffi::lua_setfield(state, -2, c"headers".as_ptr());
        push_body(state, &response.body);
        ffi::lua_setfield(state, -2, c"body".as_ptr());
        ffi::lua_pushboolean(state, c_int::from(response.cut));
        ffi::lua_setfield(state, -2, c"cut".as_ptr());
        1
    }
}

/// JSON becomes a value, an empty body nil, anything else the string of its bytes.
unsafe fn push_body(state: *mut ffi::lua_State, body: &[u8]) {
    // SAFETY: see http.
    unsafe {
        let text = std::str::from_utf8(body).unwrap_or_default();
        if body.is_empty() {
            ffi::lua_pushnil(state);
        } else if decode::push(state, text.strip_prefix('\u{feff}').unwrap_or(text)).is_err() {
            convert::push_bytes(state, body);
        }
    }
}

unsafe fn push_failure(state: *mut ffi::lua_State, failure: &HttpFailure) -> c_int {
    // SAFETY: see http.
    unsafe {
        ffi::lua_settop(state, 0);
        ffi::lua_pushnil(state);
        convert::push_text(state, &failure.message);
        convert::push_text(state, &failure.kind);
        3
    }
}
