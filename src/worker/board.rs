//! The board in shared memory: which worker sits where, whether it is alive, and who wants to hear of what.
//!
//! Everything on it is an atomic, so that reading and waking can never wait, raise or deadlock; a commit callback may
//! not. It is written anew by the postmaster after every start and every crash.

use pgrx::shmem::AssertPGRXSharedMemory;
use pgrx::{PgAtomic, pg_shmem_init, pg_sys, prelude::*};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Workers of all databases together, SQL workers included.
pub const SEATS: usize = 128;
/// Sessions in wait_operation at once.
pub const WAITERS: usize = 256;
const NEWS: usize = 64;
/// Generations remembered that ended because a call would not stop.
const OVERDUE: usize = 64;
/// Commands at once that want a database to themselves.
const ABSENCES: usize = 16;

static BOARD: PgAtomic<AssertPGRXSharedMemory<Board>> = unsafe { PgAtomic::new(c"rea board") };
static PRELOADED: OnceLock<()> = OnceLock::new();

/// The whole of rea's shared memory.
pub struct Board {
    /// Pid and latch of the launcher.
    pub launcher: Process,
    /// One seat per worker.
    pub seats: [Seat; SEATS],
    /// Sessions in wait_operation.
    pub waiters: [Waiter; WAITERS],
    /// Databases in which the extension was just created, for the launcher to look at.
    news: [AtomicU32; NEWS],
    /// Databases that a command wants to itself: their workers leave and none is started.
    kept_away: [AtomicU32; ABSENCES],
    /// Generations whose process ended itself because a call would not stop after its time; 0 where there is none.
    pub overdue: [AtomicI64; OVERDUE],
    /// Set when more databases had news than fit: the launcher looks at all.
    pub news_overflow: AtomicBool,
    /// 1 while a database could not get a worker for want of a slot (see doctor).
    pub out_of_slots: AtomicBool,
    /// Events that came again with the same id but other contents, since server start.
    pub conflicting_repeats: AtomicU64,
}

/// A process that can be woken.
pub struct Process {
    /// Process id; 0 when there is none.
    pub pid: AtomicI32,
    latch: AtomicUsize,
}

/// What a worker shows of itself.
pub struct Seat {
    /// The process.
    pub process: Process,
    /// Database it works for; 0 when the seat is free.
    pub database: AtomicU32,
    /// What it does: see the constants of [`Seat`].
    pub kind: AtomicU32,
    /// Its number in that database among those of its kind, from 0.
    pub worker_no: AtomicU32,
    /// Where its life stands: see the constants of [`Seat`].
    pub state: AtomicU32,
    /// Its generation; 0 before it has one.
    pub generation: AtomicI64,
    /// Whether a call in the database runs in it: it cannot look at its latch then.
    pub calling: AtomicBool,
    /// Last sign of life, in ms of the monotonic clock.
    pub heartbeat: AtomicI64,
    hints: AtomicU32,
}

/// A session in wait_operation.
pub struct Waiter {
    /// The process; pid 0 when the place is free.
    pub process: Process,
    /// Low half of the event's uid that it waits for.
    pub event: AtomicU64,
}

impl Seat {
    /// Nobody sits here.
    pub const FREE: u32 = 0;
    /// The launcher asked for a worker.
    pub const STARTING: u32 = 1;
    /// A worker sits here.
    pub const RUNNING: u32 = 2;
    /// The worker left; the launcher has not noticed yet.
    pub const LEFT: u32 = 3;
    /// The worker left because the database does not hold the extension.
    pub const NO_EXTENSION: u32 = 4;

    /// Kind: routes events, performs requests, minds deadlines.
    pub const MAIN: u32 = 0;
    /// Kind: makes calls in the database, and nothing else.
    pub const SQL: u32 = 1;

    /// Hint: there may be new events.
    pub const INBOX: u32 = 1;
    /// Hint: there may be new or changed queue rows.
    pub const QUEUE: u32 = 2;
    /// Hint: waiting instances were signalled.
    pub const SIGNAL: u32 = 4;
    /// Hint: something is wanted of instances.
    pub const REQUEST: u32 = 8;
    /// Hint: the clock may have to fire earlier than known.
    pub const CLOCK: u32 = 16;

    /// Takes the hints that were left here.
    pub fn take_hints(&self) -> u32 {
        self.hints.swap(0, Ordering::AcqRel)
    }

    /// Leaves a hint and wakes the worker.
    pub fn hint(&self, hint: u32) {
        self.hints.fetch_or(hint, Ordering::AcqRel);
        self.process.wake();
    }

    /// Whether somebody sits here, or is about to, who is of this kind and works for this database.
    pub fn is_of(&self, database: u32, kind: u32) -> bool {
        self.database.load(Ordering::Acquire) == database && self.kind.load(Ordering::Acquire) == kind
    }

    /// Whether a live SQL worker of this database sits here. Its calls may take hours, in which it cannot move: it lives
    /// as long as its process.
    pub fn calls_for(&self, database: pg_sys::Oid) -> bool {
        self.is_of(database.to_u32(), Self::SQL)
            && self.state.load(Ordering::Acquire) == Self::RUNNING
            && self.generation.load(Ordering::Acquire) != 0
            && self.process.is_alive()
    }

    /// Whether a live worker of this database sits here; one that has not moved for `silence_ms` is not live.
    pub fn serves(&self, database: pg_sys::Oid, now_ms: i64, silence_ms: i64) -> bool {
        self.is_of(database.to_u32(), Self::MAIN)
            && self.state.load(Ordering::Acquire) == Self::RUNNING
            && self.generation.load(Ordering::Acquire) != 0
            && now_ms - self.heartbeat.load(Ordering::Acquire) < silence_ms
    }
}

impl Process {
    const fn none() -> Process {
        Process { pid: AtomicI32::new(0), latch: AtomicUsize::new(0) }
    }

    /// Enters the calling process.
    pub fn enter(&self) {
        // SAFETY: MyLatch of a process with a PGPROC lies in shared memory and outlives the process.
        self.latch.store(unsafe { pg_sys::MyLatch } as usize, Ordering::Release);
        self.pid.store(unsafe { pg_sys::MyProcPid }, Ordering::Release);
    }

    /// Removes the entry.
    pub fn leave(&self) {
        self.pid.store(0, Ordering::Release);
        self.latch.store(0, Ordering::Release);
    }

    /// Whether the process exists.
    pub fn is_alive(&self) -> bool {
        let pid = self.pid.load(Ordering::Acquire);
        // SAFETY: signal 0 only asks.
        pid != 0 && unsafe { libc::kill(pid, 0) } == 0
    }

    /// Asks the process to end, as pg_terminate_backend does.
    pub fn terminate(&self) {
        let pid = self.pid.load(Ordering::Acquire);
        if pid != 0 {
            // SAFETY: a process of this server, which removes its entry before it ends.
            unsafe { libc::kill(pid, libc::SIGTERM) };
        }
    }

    /// Sets the latch; a stale one belongs to some other process by now, which just looks once more.
    pub fn wake(&self) {
        let latch = self.latch.load(Ordering::Acquire) as *mut pg_sys::Latch;
        if !latch.is_null() {
            // SAFETY: latches are never unmapped; SetLatch cannot raise.
            unsafe { pg_sys::SetLatch(latch) };
        }
    }
}

impl Board {
    fn new() -> Board {
        Board {
            launcher: Process::none(),
            seats: std::array::from_fn(|_| Seat {
                process: Process::none(),
                database: AtomicU32::new(0),
                kind: AtomicU32::new(Seat::MAIN),
                worker_no: AtomicU32::new(0),
                state: AtomicU32::new(Seat::FREE),
                generation: AtomicI64::new(0),
                calling: AtomicBool::new(false),
                heartbeat: AtomicI64::new(0),
                hints: AtomicU32::new(0),
            }),
            waiters: std::array::from_fn(|_| Waiter { process: Process::none(), event: AtomicU64::new(0) }),
            news: std::array::from_fn(|_| AtomicU32::new(0)),
            kept_away: std::array::from_fn(|_| AtomicU32::new(0)),
            overdue: std::array::from_fn(|_| AtomicI64::new(0)),
            news_overflow: AtomicBool::new(false),
            out_of_slots: AtomicBool::new(false),
            conflicting_repeats: AtomicU64::new(0),
        }
    }

    /// Tells the launcher that this database deserves a look.
    pub fn tell_launcher(&self, database: pg_sys::Oid) {
        let entered = self
            .news
            .iter()
            .any(|place| place.compare_exchange(0, database.to_u32(), Ordering::AcqRel, Ordering::Acquire).is_ok());
        if !entered {
            self.news_overflow.store(true, Ordering::Release);
        }
        self.launcher.wake();
    }

    /// Keeps workers away from a database until [`Board::let_in`]; `None` when too many commands do so already.
    pub fn keep_away(&self, database: pg_sys::Oid) -> Option<usize> {
        self.kept_away
            .iter()
            .position(|place| place.compare_exchange(0, database.to_u32(), Ordering::AcqRel, Ordering::Acquire).is_ok())
    }

    /// Lets workers in again.
    pub fn let_in(&self, place: usize) {
        let database = self.kept_away[place].swap(0, Ordering::AcqRel);
        self.tell_launcher(pg_sys::Oid::from(database));
    }

    /// Whether a command wants this database to itself.
    pub fn is_kept_away(&self, database: u32) -> bool {
        self.kept_away.iter().any(|place| place.load(Ordering::Acquire) == database)
    }

    /// Databases that deserve a look since the last call.
    pub fn take_news(&self) -> Vec<u32> {
        self.news.iter().map(|place| place.swap(0, Ordering::AcqRel)).filter(|database| *database != 0).collect()
    }

    /// Ends the calls that run in this database: who needs it, or the extension, cannot wait for them.
    pub fn end_calls(&self, database: pg_sys::Oid) {
        let calls = |seat: &&Seat| seat.calls_for(database) && seat.calling.load(Ordering::Acquire);
        self.seats.iter().filter(calls).for_each(|seat| seat.process.terminate());
    }

    /// Generations of this database whose process is alive, SQL workers included.
    pub fn live_generations(&self, database: pg_sys::Oid) -> Vec<i64> {
        let sql = self.seats.iter().filter(|seat| seat.calls_for(database));
        self.live_seats(database).into_iter().chain(sql).map(|seat| seat.generation.load(Ordering::Acquire)).collect()
    }

    /// Seats of this database's live workers, in order of worker number; SQL workers are not among them.
    pub fn live_seats(&self, database: pg_sys::Oid) -> Vec<&Seat> {
        let (now, silence) = (monotonic_ms(), crate::guc::heartbeat_timeout().as_millis() as i64);
        let mut seats: Vec<&Seat> = self.seats.iter().filter(|seat| seat.serves(database, now, silence)).collect();
        seats.sort_by_key(|seat| seat.worker_no.load(Ordering::Acquire));
        seats
    }
}

/// Reserves the shared memory; only possible while the postmaster preloads libraries.
pub fn init() {
    pg_shmem_init!(BOARD = unsafe { AssertPGRXSharedMemory::new(Board::new()) });
    PRELOADED.get_or_init(|| ());
}

/// The board; `None` when the library was not preloaded.
pub fn board() -> Option<&'static Board> {
    PRELOADED.get()?;
    Some(BOARD.get())
}

/// Milliseconds of a clock that no wall-clock step moves; the same for all processes of the machine.
pub fn monotonic_ms() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: time is valid for writing; CLOCK_MONOTONIC always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
}
