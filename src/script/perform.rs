//! Performs one script: a fresh world, the data, the call, the report.

use super::compile::{self, CompileError, STACK};
use super::report::{ErrorCode, Outcome, Report};
use super::session::{self, Session};
use super::vm::Vm;
use super::{Host, Limits, Script, api, convert, decode, encode, library};
use mlua_sys as ffi;
use std::ffi::{CString, c_char, c_int};
use std::time::{Duration, Instant};

/// Runs a script to its end. Takes no longer than `limits.wall` and a moment, and one thread's time.
pub fn run(script: &Script, host: &mut dyn Host, limits: &Limits) -> Report {
    let started = (Instant::now(), session::cpu_time());
    // Threads of the pool have small stacks; a script may nest calls, patterns and data.
    stacker::grow(STACK, || match compile::compile(&script.source) {
        Ok(bytecode) => perform(script, host, limits, &bytecode, started),
        Err(error) => failed(started, ErrorCode::Compile, compile_text(script, &error)),
    })
}

fn compile_text(script: &Script, error: &CompileError) -> String {
    match error {
        CompileError::Syntax { line, message } => format!("{}:{line}: {message}", script.name),
        CompileError::TooLong(_) => format!("{}: {error}", script.name),
    }
}

/// The report of a script that did not begin.
fn failed(started: (Instant, Duration), code: ErrorCode, message: String) -> Report {
    Report {
        outcome: Outcome::Error { code, message },
        calls: Vec::new(),
        calls_dropped: 0,
        kv_sets: Vec::new(),
        log: Vec::new(),
        log_dropped: 0,
        elapsed: started.0.elapsed(),
        cpu: session::cpu_time().saturating_sub(started.1),
        peak_memory: 0,
    }
}

fn perform(
    script: &Script,
    host: &mut dyn Host,
    limits: &Limits,
    bytecode: &[u8],
    started: (Instant, Duration),
) -> Report {
    let Some(vm) = Vm::new(limits.memory) else {
        return failed(
            started,
            ErrorCode::Memory,
            format!("{}: the script cannot begin with so little memory", script.name),
        );
    };
    let session = Session::begin(script, limits, bytecode, &vm.memory, host, started);
    vm.equip(session.pointer(), session::step);
    let status = vm.protected(attempt, std::ptr::null_mut());
    let outcome = outcome(&session, status);
    let (elapsed, cpu) = session.spent();
    let log = session.take_log();
    Report {
        outcome,
        calls: log.calls,
        calls_dropped: log.calls_dropped,
        kv_sets: session.kv.take().into_sets(),
        log: log.lines,
        log_dropped: log.lines_dropped,
        elapsed,
        cpu,
        peak_memory: vm.memory.peak(),
    }
}

/// What is known decides, not the error that came out: a script may have replaced it by one of its own.
fn outcome(session: &Session<'_>, status: c_int) -> Outcome {
    if let Some(end) = session.take_end() {
        return end;
    }
    if session.memory.refused() {
        return Outcome::Error {
            code: ErrorCode::Memory,
            message: format!("{}: {}", session.script.name, session.limit_text(ErrorCode::Memory)),
        };
    }
    if let Some(json) = session.returned.take() {
        return Outcome::Returned(json);
    }
    let message = session.error.take().unwrap_or_else(|| format!("script ended with an unreadable error ({status})"));
    Outcome::Error { code: ErrorCode::Error, message }
}

/// Makes the world and calls the script in it; an error becomes text.
unsafe extern "C-unwind" fn attempt(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: called under Vm::protected, on a new state with a session.
    unsafe {
        ffi::lua_settop(state, 0);
        convert::install(state);
        library::open(state);
        api::open(state);
        ffi::luaL_sandbox(state, 1);
        ffi::luaL_sandboxthread(state);
        library::push_function(state, c"note", note_place);
        library::push_function(state, c"script", call);
        if ffi::lua_pcall(state, 0, 0, 1) != ffi::LUA_OK {
            let session = Session::of(state);
            let is_text = ffi::lua_type(state, -1) == ffi::LUA_TSTRING;
            let text = api::text_of(state, -1);
            let place =
                session.place.take().filter(|_| !is_text).map_or_else(String::new, |place| format!("{place}: "));
            session.error.replace(Some(format!("{place}{text}")));
        }
        0
    }
}

/// Remembers where an error came up.
unsafe extern "C-unwind" fn note_place(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: called by Luau with the error, on top of the frames that raised it.
    unsafe {
        let place = session::place(state);
        Session::of(state).place.replace(place);
        ffi::lua_settop(state, 1);
        1
    }
}

/// Gives the script its data, calls it, and takes what it returns.
unsafe extern "C-unwind" fn call(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: see attempt.
    unsafe {
        let session = Session::of(state);
        for (name, text) in [(c"ctx", &session.script.context), (c"args", &session.script.args)] {
            if let Err(error) = decode::push(state, text) {
                let message = format!("{} cannot be given to the script: {error}", name.to_string_lossy());
                session.end(Outcome::Error { code: ErrorCode::Input, message });
                session::halt(state);
            }
            ffi::lua_setglobal(state, name.as_ptr());
        }
        let name = CString::new(format!("={}", session.script.name.replace('\0', ""))).unwrap_or_default();
        let bytecode = session.bytecode;
        if ffi::luau_load(state, name.as_ptr(), bytecode.as_ptr().cast::<c_char>(), bytecode.len(), 0) != 0 {
            ffi::lua_error(state);
        }
        ffi::lua_call(state, 0, 1);
        session::checkpoint(state);
        match encode::json(state, -1, session.limits.output) {
            Ok(json) => drop(session.returned.replace(Some(json))),
            Err(error) => {
                let message = format!("{}: the result: {error}", session.script.name);
                session.end(Outcome::Error { code: ErrorCode::Output, message });
            }
        }
        0
    }
}
