//! From source to bytecode. Pure: no state, no clock.

use mlua_sys as ffi;

/// Longest source, in bytes: compiling cannot be interrupted, and this much takes a moment only.
pub const MAX_SOURCE_BYTES: usize = 256 * 1024;

/// Stack for the compiler and for a script, bytes; both nest to fixed depths that fit with room to spare.
pub(super) const STACK: usize = 8 * 1024 * 1024;

/// Why a source is no script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// It breaks the grammar.
    #[error("{message} (line {line})")]
    Syntax {
        /// The line, from 1.
        line: u32,
        /// What the compiler says.
        message: String,
    },
    /// It is longer than [`MAX_SOURCE_BYTES`].
    #[error("the source has {0} bytes, the limit is {MAX_SOURCE_BYTES}")]
    TooLong(usize),
}

/// Checks that a source compiles.
///
/// # Errors
/// [`CompileError`] says why it does not.
pub fn check(source: &str) -> Result<(), CompileError> {
    stacker::grow(STACK, || compile(source)).map(drop)
}

/// The bytecode of a source. Needs [`STACK`].
pub(super) fn compile(source: &str) -> Result<Vec<u8>, CompileError> {
    if source.len() > MAX_SOURCE_BYTES {
        return Err(CompileError::TooLong(source.len()));
    }
    // A field of these that the script has changed must be read anew.
    let mutable = [c"ctx".as_ptr(), c"args".as_ptr(), std::ptr::null()];
    let mut options = ffi::lua_CompileOptions::default();
    options.mutableGlobals = mutable.as_ptr();
    // SAFETY: the list of names outlives the call.
    let bytecode = unsafe { ffi::luau_compile(source.as_bytes(), options) };
    match bytecode.split_first() {
        Some((0, told)) => Err(syntax(&String::from_utf8_lossy(told))),
        _ => Ok(bytecode),
    }
}

/// The compiler tells `:LINE: MESSAGE`.
fn syntax(told: &str) -> CompileError {
    let parts = told.strip_prefix(':').and_then(|rest| rest.split_once(": "));
    let (line, message) = parts.and_then(|(line, message)| Some((line.parse().ok()?, message))).unwrap_or((1, told));
    CompileError::Syntax { line, message: message.to_owned() }
}
