//! Luau values become JSON text, or the failure names the place that cannot.
//!
//! A table is an array if it is marked as one or has a first element; then its keys must be 1 to n. Any other table is
//! an object, and its keys must be strings. Metatables are not asked: nothing of the script runs here. What it writes
//! is bounded, so that a table that holds itself many times over ends too.

use super::convert::{self, MAX_DEPTH};
use super::exact;
use mlua_sys as ffi;
use std::ffi::{CStr, c_int};
use std::fmt::Write as _;

/// Why a value is no JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}{}", .path.as_deref().map(|path| format!(" at {path}")).unwrap_or_default())]
pub(super) struct EncodeError {
    problem: String,
    /// From the outermost value on, like `.items[3].id`.
    path: Option<String>,
}

impl EncodeError {
    fn new(problem: impl Into<String>) -> EncodeError {
        EncodeError { problem: problem.into(), path: None }
    }

    /// The same, one level further out.
    fn under(mut self, step: &str) -> EncodeError {
        // A path of many levels says no more than its beginning and its end.
        let inner = self.path.unwrap_or_default();
        self.path = Some(if inner.len() < 200 { format!("{step}{inner}") } else { format!("{step}…") });
        self
    }
}

/// The JSON text of the value at an index, at most `limit` bytes.
///
/// # Errors
/// [`EncodeError`] names what JSON cannot say, and where.
pub(super) unsafe fn json(state: *mut ffi::lua_State, index: c_int, limit: usize) -> Result<String, EncodeError> {
    let mut writer = Writer { state, out: String::new(), limit };
    // SAFETY: by the caller.
    unsafe {
        let index = ffi::lua_absindex(state, index);
        if ffi::lua_type(state, index) <= ffi::LUA_TNIL {
            return Ok("null".to_owned());
        }
        writer.value(index, 0)?;
    }
    Ok(writer.out)
}

struct Writer {
    state: *mut ffi::lua_State,
    out: String,
    limit: usize,
}

impl Writer {
    unsafe fn value(&mut self, index: c_int, depth: usize) -> Result<(), EncodeError> {
        // SAFETY: by the caller of json, here and below; the index is absolute.
        unsafe {
            match ffi::lua_type(self.state, index) {
                ffi::LUA_TBOOLEAN => {
                    self.put(if ffi::lua_toboolean(self.state, index) != 0 { "true" } else { "false" })
                }
                ffi::LUA_TNUMBER => self.number(ffi::lua_tonumber(self.state, index)),
                ffi::LUA_TSTRING => self.string(convert::bytes_at(self.state, index).unwrap_or_default()),
                ffi::LUA_TTABLE => self.table(index, depth),
                _ if convert::is_null(self.state, index) => self.put("null"),
                _ => match convert::exact_number_at(self.state, index) {
                    Some(text) if exact::fits_numeric(text) => self.put(text),
                    Some(_) => Err(EncodeError::new("number is out of the range of numeric")),
                    None => Err(EncodeError::new(format!("{} cannot be JSON", self.type_name(index)))),
                },
            }
        }
    }

    fn put(&mut self, text: &str) -> Result<(), EncodeError> {
        if self.out.len() + text.len() > self.limit {
            return Err(EncodeError::new(format!("value is larger than {} bytes as JSON", self.limit)));
        }
        self.out.push_str(text);
        Ok(())
    }

    fn number(&mut self, number: f64) -> Result<(), EncodeError> {
        if number.is_finite() {
            self.put(&exact::text_of(number))
        } else {
            Err(EncodeError::new(if number.is_nan() { "NaN cannot be JSON" } else { "infinity cannot be JSON" }))
        }
    }

    fn string(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        let text = std::str::from_utf8(bytes).map_err(|_| EncodeError::new("string is not valid UTF-8"))?;
        if text.contains('\0') {
            return Err(EncodeError::new("string holds a NUL character, which jsonb cannot"));
        }
        if self.out.len() + text.len() > self.limit {
            return self.put(text);
        }
        self.put(&serde_json::Value::from(text).to_string())
    }

    unsafe fn table(&mut self, index: c_int, depth: usize) -> Result<(), EncodeError> {
        // SAFETY: see value.
        unsafe {
            if depth >= MAX_DEPTH || ffi::lua_checkstack(self.state, 8) == 0 {
                return Err(EncodeError::new(format!("nested deeper than {MAX_DEPTH} levels, or in a circle")));
            }
            let length = ffi::lua_objlen_(self.state, index);
            if length > 0 || convert::is_marked_array(self.state, index) {
                self.array(index, length, depth)
            } else {
                self.object(index, depth)
            }
        }
    }

    unsafe fn array(&mut self, index: c_int, length: c_int, depth: usize) -> Result<(), EncodeError> {
        // SAFETY: see value.
        unsafe {
            self.put("[")?;
            for place in 1..=length {
                self.put(if place > 1 { "," } else { "" })?;
                ffi::lua_rawgeti_(self.state, index, place);
                let item = ffi::lua_gettop(self.state);
                if ffi::lua_type(self.state, item) == ffi::LUA_TNIL {
                    return Err(sparse());
                }
                self.value(item, depth + 1).map_err(|error| error.under(&format!("[{place}]")))?;
                ffi::lua_pop(self.state, 1);
            }
            if self.count(index) != length as usize {
                return Err(sparse());
            }
            self.put("]")
        }
    }

    unsafe fn count(&self, index: c_int) -> usize {
        let (mut count, mut place) = (0, 0);
        // SAFETY: see value; lua_rawiter pushes a key and a value for each entry.
        unsafe {
            loop {
                place = ffi::lua_rawiter(self.state, index, place);
                if place < 0 {
                    return count;
                }
                ffi::lua_pop(self.state, 2);
                count += 1;
            }
        }
    }

    /// Members come sorted by name: the same table gives the same text, however it was filled.
    unsafe fn object(&mut self, index: c_int, depth: usize) -> Result<(), EncodeError> {
        self.put("{")?;
        // SAFETY: see value; the keys stay alive in the table.
        unsafe {
            let names = self.names(index)?;
            for (round, name) in names.into_iter().enumerate() {
                self.put(if round > 0 { "," } else { "" })?;
                self.string(name)?;
                self.put(":")?;
                convert::push_bytes(self.state, name);
                ffi::lua_rawget(self.state, index);
                let value = ffi::lua_gettop(self.state);
                self.value(value, depth + 1).map_err(|error| error.under(&step(name)))?;
                ffi::lua_pop(self.state, 1);
            }
        }
        self.put("}")
    }

    /// The names of an object's members, sorted.
    unsafe fn names<'a>(&self, index: c_int) -> Result<Vec<&'a [u8]>, EncodeError> {
        let (mut names, mut place) = (Vec::new(), 0);
        // SAFETY: see object and count.
        unsafe {
            loop {
                place = ffi::lua_rawiter(self.state, index, place);
                if place < 0 {
                    names.sort_unstable();
                    return Ok(names);
                }
                let key = ffi::lua_gettop(self.state) - 1;
                match (convert::bytes_at(self.state, key), ffi::lua_type(self.state, key)) {
                    (Some(name), _) => names.push(name),
                    (None, ffi::LUA_TNUMBER) => return Err(sparse()),
                    _ => return Err(EncodeError::new(format!("{} cannot be a key of JSON", self.type_name(key)))),
                }
                ffi::lua_pop(self.state, 2);
            }
        }
    }

    unsafe fn type_name(&self, index: c_int) -> String {
        // SAFETY: see value; Luau's type names are static.
        let name = unsafe { CStr::from_ptr(ffi::luaL_typename(self.state, index)) };
        format!("a {}", name.to_string_lossy())
    }
}

fn sparse() -> EncodeError {
    EncodeError::new("table is neither an array with the keys 1 to n nor an object with strings as keys")
}

fn step(key: &[u8]) -> String {
    let mut step = String::from(".");
    let shown = String::from_utf8_lossy(&key[..key.len().min(64)]);
    let _ = write!(step, "{shown}");
    step
}
