//! JSON text becomes Luau values, straight from the text.
//!
//! Must never change a number or a shape: see [`super::convert`].

use super::convert::{self, MAX_DEPTH};
use mlua_sys as ffi;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// What serde_json names the one member of the map as which it hands out a number that is no small integer.
const NUMBER_TOKEN: &str = "$serde_json::private::Number";

/// Pushes the value that the text describes.
///
/// # Errors
/// The text is no JSON, or nested deeper than [`MAX_DEPTH`]; then nothing is pushed.
pub(super) unsafe fn push(state: *mut ffi::lua_State, text: &str) -> Result<(), serde_json::Error> {
    let bounds = text.as_bytes().as_ptr_range();
    let text_at = bounds.start as usize..bounds.end as usize;
    // SAFETY: by the caller.
    let top = unsafe { ffi::lua_gettop(state) };
    let mut reader = serde_json::Deserializer::from_str(text);
    // The depth is counted here.
    reader.disable_recursion_limit();
    let result = Place { state, text_at: &text_at, depth: 0 }.deserialize(&mut reader).and_then(|()| reader.end());
    if result.is_err() {
        // SAFETY: takes off what was pushed.
        unsafe { ffi::lua_settop(state, top) };
    }
    result
}

/// Where one value goes: on top of the stack.
#[derive(Clone, Copy)]
struct Place<'t> {
    state: *mut ffi::lua_State,
    /// Addresses of the text.
    text_at: &'t Range<usize>,
    depth: usize,
}

impl Place<'_> {
    fn inner<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            return Err(E::custom(format_args!("nested deeper than {MAX_DEPTH} levels")));
        }
        // SAFETY: by the caller of push.
        if unsafe { ffi::lua_checkstack(self.state, 8) } == 0 {
            return Err(E::custom("nested too deeply"));
        }
        Ok(Place { depth: self.depth + 1, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Place<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        // SAFETY: by the caller of push, here and below.
        unsafe { convert::push_null(self.state) };
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        unsafe { ffi::lua_pushboolean(self.state, i32::from(value)) };
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        unsafe { convert::push_number(self.state, &value.to_string()) };
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        unsafe { convert::push_number(self.state, &value.to_string()) };
        Ok(())
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        unsafe { convert::push_text(self.state, value) };
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let inner = self.inner()?;
        unsafe {
            ffi::lua_createtable(self.state, 0, 0);
            let mut count = 0;
            while items.next_element_seed(inner)?.is_some() {
                count += 1;
                ffi::lua_rawseti_(self.state, -2, count);
            }
            convert::mark_array(self.state);
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let inner = self.inner()?;
        let mut next = members.next_key_seed(KeyPlace(self.text_at))?;
        if let Some(Key::Number) = next {
            return members.next_value_seed(NumberPlace(self.state));
        }
        unsafe {
            ffi::lua_createtable(self.state, 0, 0);
            while let Some(Key::Name(name)) = next {
                convert::push_text(self.state, &name);
                members.next_value_seed(inner)?;
                ffi::lua_rawset(self.state, -3);
                next = members.next_key_seed(KeyPlace(self.text_at))?;
            }
        }
        Ok(())
    }
}

/// A key as serde_json hands it out.
enum Key<'de> {
    /// No key: what follows is a number's text.
    Number,
    /// A member's name.
    Name(Cow<'de, str>),
}

/// Takes a key. A member may have the very name that marks a number; but its text then comes from the text.
struct KeyPlace<'t>(&'t Range<usize>);

impl<'de> DeserializeSeed<'de> for KeyPlace<'_> {
    type Value = Key<'de>;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Key<'de>, D::Error> {
        reader.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KeyPlace<'_> {
    type Value = Key<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Key<'de>, E> {
        let is_number = name == NUMBER_TOKEN && !self.0.contains(&(name.as_ptr() as usize));
        Ok(if is_number { Key::Number } else { Key::Name(Cow::Borrowed(name)) })
    }

    fn visit_str<E>(self, name: &str) -> Result<Key<'de>, E> {
        Ok(Key::Name(Cow::Owned(name.to_owned())))
    }
}

/// Takes a number's text.
struct NumberPlace(*mut ffi::lua_State);

impl<'de> DeserializeSeed<'de> for NumberPlace {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl Visitor<'_> for NumberPlace {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        // SAFETY: by the caller of push.
        unsafe { convert::push_number(self.0, text) };
        Ok(())
    }
}
