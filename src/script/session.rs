//! One run: its limits, what it did, how it ended.
//!
//! Luau asks [`step`] at every call, return, loop edge and pattern match. Once the run has ended, every step raises an
//! error again: a script may catch it, but gets nowhere. How it ended is remembered here, whatever error comes out.
//!
//! Shared by reference with the functions that the script calls; nothing stays borrowed across a call into Luau.

use super::convert;
use super::kv::Kv;
use super::memory::Memory;
use super::report::{Call, ErrorCode, LogLine, Outcome};
use super::vm;
use super::{Host, Limits, Script};
use mlua_sys as ffi;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_int, c_void};
use std::time::{Duration, Instant, SystemTime};

/// Calls kept in the report.
const MAX_CALLS: usize = 100;
/// Log lines kept in the report, and bytes of all of them.
const MAX_LINES: usize = 200;
const MAX_LOG_BYTES: usize = 64 * 1024;

/// A run.
pub(super) struct Session<'r> {
    /// What runs.
    pub(super) script: &'r Script,
    /// What it may use.
    pub(super) limits: &'r Limits,
    /// Its bytecode.
    pub(super) bytecode: &'r [u8],
    /// Its memory.
    pub(super) memory: &'r Memory,
    /// The world.
    pub(super) host: RefCell<&'r mut dyn Host>,
    /// Its changes of the key-value store.
    pub(super) kv: RefCell<Kv>,
    /// What it returned, as JSON text.
    pub(super) returned: RefCell<Option<String>>,
    /// The text of the error that came out.
    pub(super) error: RefCell<Option<String>>,
    /// Where the last error came up that has no text of its own.
    pub(super) place: RefCell<Option<String>>,
    log: RefCell<Log>,
    ended: RefCell<Option<Outcome>>,
    halted: Cell<bool>,
    started: Instant,
    cpu_started: Duration,
    last_tick: Cell<i64>,
    /// Memory in use from which garbage is collected in haste.
    haste: Cell<usize>,
}

/// What a run did.
#[derive(Default)]
pub(super) struct Log {
    pub(super) calls: Vec<Call>,
    pub(super) calls_dropped: u64,
    pub(super) lines: Vec<LogLine>,
    pub(super) lines_dropped: u64,
    bytes: usize,
}

impl<'r> Session<'r> {
    /// Begins a run: its time goes from here.
    pub(super) fn begin(
        script: &'r Script,
        limits: &'r Limits,
        bytecode: &'r [u8],
        memory: &'r Memory,
        host: &'r mut dyn Host,
        started: (Instant, Duration),
    ) -> Session<'r> {
        Session {
            script,
            limits,
            bytecode,
            memory,
            host: RefCell::new(host),
            kv: RefCell::default(),
            returned: RefCell::default(),
            error: RefCell::default(),
            place: RefCell::default(),
            log: RefCell::default(),
            ended: RefCell::default(),
            halted: Cell::new(false),
            started: started.0,
            cpu_started: started.1,
            last_tick: Cell::new(i64::MIN),
            haste: Cell::new(memory.limit() / 2),
        }
    }

    /// The session of a running state.
    ///
    /// # Safety
    /// The state was equipped with a session that is alive.
    pub(super) unsafe fn of<'a>(state: *mut ffi::lua_State) -> &'a Session<'a> {
        // SAFETY: by contract.
        unsafe { &*vm::data(state).cast::<Session<'a>>() }
    }

    /// The pointer that [`Session::of`] gives back.
    pub(super) fn pointer(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// Ends the run; the first end counts.
    pub(super) fn end(&self, outcome: Outcome) {
        self.halted.set(true);
        self.ended.borrow_mut().get_or_insert(outcome);
    }

    /// How it ended, if something other than its return or an error ended it.
    pub(super) fn take_end(&self) -> Option<Outcome> {
        self.ended.take()
    }

    /// Time left, never negative.
    pub(super) fn left(&self) -> Duration {
        self.limits.wall.saturating_sub(self.started.elapsed())
    }

    /// Time since the beginning, by the clock and of computing.
    pub(super) fn spent(&self) -> (Duration, Duration) {
        (self.started.elapsed(), cpu_time().saturating_sub(self.cpu_started))
    }

    /// Notes a call.
    pub(super) fn note_call(
        &self,
        kind: &'static str,
        target: &str,
        result: &str,
        started: SystemTime,
        took: Duration,
    ) {
        let mut log = self.log.borrow_mut();
        if log.calls.len() >= MAX_CALLS {
            log.calls_dropped += 1;
            return;
        }
        let cut = |text: &str| text.chars().take(self.limits.summary_chars).collect();
        log.calls.push(Call { kind, target: cut(target), result: cut(result), started, elapsed: took });
    }

    /// Notes a log line.
    pub(super) fn note_line(&self, level: &'static str, text: String) {
        let mut log = self.log.borrow_mut();
        if level == "debug" && !self.limits.keep_debug {
            return;
        }
        if log.lines.len() >= MAX_LINES || log.bytes + text.len() > MAX_LOG_BYTES {
            log.lines_dropped += 1;
            return;
        }
        log.bytes += text.len();
        log.lines.push(LogLine { level, text, time: SystemTime::now() });
    }

    /// What it did.
    pub(super) fn take_log(&self) -> Log {
        self.log.take()
    }

    /// Whether the run is over; looks at the limits.
    unsafe fn is_over(&self, state: *mut ffi::lua_State) -> bool {
        if self.halted.get() {
            return true;
        }
        // SAFETY: by the caller, here and below.
        unsafe { self.collect_in_haste(state) };
        let found = if self.memory.refused() { Some(ErrorCode::Memory) } else { self.time_over() };
        if let Some(code) = found {
            let place = unsafe { place(state) }.unwrap_or_else(|| self.script.name.clone());
            self.end(Outcome::Error { code, message: format!("{place}: {}", self.limit_text(code)) });
        }
        self.halted.get()
    }

    /// The clocks are looked at only when the cheap one has moved (every 1 to 10 ms).
    fn time_over(&self) -> Option<ErrorCode> {
        let tick = clock(libc::CLOCK_MONOTONIC_COARSE).as_micros() as i64;
        if self.last_tick.replace(tick) == tick {
            return None;
        }
        let (elapsed, cpu) = self.spent();
        if (self.limits.cancelled)() {
            Some(ErrorCode::Cancelled)
        } else if elapsed >= self.limits.wall {
            Some(ErrorCode::Timeout)
        } else if self.limits.cpu.is_some_and(|limit| cpu >= limit) {
            Some(ErrorCode::Cpu)
        } else {
            None
        }
    }

    /// What is said when a limit is hit.
    pub(super) fn limit_text(&self, code: ErrorCode) -> String {
        match code {
            ErrorCode::Timeout => format!("the script took longer than {} ms", self.limits.wall.as_millis()),
            ErrorCode::Cpu => {
                let limit = self.limits.cpu.unwrap_or(self.limits.wall);
                format!("the script computed for longer than {} ms", limit.as_millis())
            }
            ErrorCode::Memory => format!("the script needed more than {} kB of memory", self.memory.limit() / 1024),
            _ => "the script was cancelled".to_owned(),
        }
    }

    /// Luau collects garbage by its own pace, which knows no limit.
    unsafe fn collect_in_haste(&self, state: *mut ffi::lua_State) {
        let limit = self.memory.limit();
        if self.memory.used() < self.haste.get() {
            return;
        }
        // SAFETY: Luau may collect at any step.
        unsafe { ffi::lua_gc(state, ffi::LUA_GCCOLLECT, 0) };
        let used = self.memory.used();
        self.haste.set((limit / 2).max(used + limit.saturating_sub(used) / 2).max(used + limit / 32));
    }
}

/// Called by Luau at every step. Raises when the run is over.
pub(super) unsafe extern "C-unwind" fn step(state: *mut ffi::lua_State, collecting: c_int) {
    if collecting >= 0 {
        return;
    }
    // SAFETY: installed together with the session.
    unsafe {
        if Session::of(state).is_over(state) {
            halt(state);
        }
    }
}

/// Ends the run here if it is over: what a function of `rea` asks first.
pub(super) unsafe fn checkpoint(state: *mut ffi::lua_State) {
    // SAFETY: by the caller.
    unsafe { step(state, -1) };
}

/// Raises the error that ends a run. It needs no memory.
pub(super) unsafe fn halt(state: *mut ffi::lua_State) -> ! {
    // SAFETY: by the caller; null is no special value for an error.
    unsafe {
        ffi::lua_rawcheckstack(state, 1);
        convert::push_null(state);
        ffi::lua_error(state)
    }
}

/// Script and line that run now.
pub(super) unsafe fn place(state: *mut ffi::lua_State) -> Option<String> {
    for level in 0..8 {
        // SAFETY: lua_getinfo fills what it is asked for, or returns 0.
        unsafe {
            let mut info: ffi::lua_Debug = std::mem::zeroed();
            if ffi::lua_getinfo(state, level, c"sl".as_ptr(), &mut info) == 0 {
                return None;
            }
            if info.currentline > 0 && !info.short_src.is_null() {
                let source = CStr::from_ptr(info.short_src).to_string_lossy();
                return Some(format!("{source}:{}", info.currentline));
            }
        }
    }
    None
}

/// CPU time of this thread.
pub(super) fn cpu_time() -> Duration {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn clock(which: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec; these clocks exist on every Linux.
    unsafe { libc::clock_gettime(which, &mut time) };
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.clamp(0, 999_999_999) as u32)
}
