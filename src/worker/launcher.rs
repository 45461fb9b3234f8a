//! The launcher: sees which databases hold the extension and keeps their workers running.
//!
//! It is connected to no database, so it can never stand in the way of one. It learns of new databases by a scan of
//! pg_database, and of a new extension at once, from the transaction that created it.

use super::board::{Board, SEATS, Seat, board, monotonic_ms};
use super::serve::Worker;
use super::{LIBRARY, process};
use crate::{guc, store};
use pgrx::bgworkers::{BackgroundWorkerBuilder, BackgroundWorkerStatus, DynamicBackgroundWorker};
use pgrx::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::{Duration, Instant};

/// How often pg_database is read.
const LIST_EVERY: Duration = Duration::from_secs(10);
/// How often a database without the extension is looked at, for what no hint announced.
const PROBE_EVERY: Duration = Duration::from_secs(300);
/// Restart delays after a worker that did not live long.
const FIRST_BACKOFF: Duration = Duration::from_millis(500);
const LAST_BACKOFF: Duration = Duration::from_secs(30);
/// A worker that lived this long starts again at once.
const HEALTHY: Duration = Duration::from_secs(10);
/// How often a want of worker slots is logged.
const SLOT_WARNING_EVERY: Duration = Duration::from_secs(60);

struct Database {
    /// Whether a worker shall run, or at least look.
    wanted: bool,
    /// Whether the extension was created there since the last start: what an older look found does not count.
    renewed: bool,
    /// Whether a worker of it could not start for want of a slot.
    lacks_slot: bool,
    next_try: Instant,
    backoff: Duration,
    next_probe: Instant,
}

struct Starting {
    handle: DynamicBackgroundWorker,
}

struct Launcher {
    board: &'static Board,
    databases: HashMap<u32, Database>,
    starting: HashMap<usize, Starting>,
    started: HashMap<usize, Instant>,
    next_list: Instant,
    next_slot_warning: Instant,
}

/// Entry point of the launcher process.
#[pg_guard]
#[unsafe(no_mangle)]
pub extern "C-unwind" fn rea_launcher_main(_argument: pg_sys::Datum) {
    process::handle_signals();
    // SAFETY: no database: shared catalogs only.
    unsafe { pg_sys::BackgroundWorkerInitializeConnection(std::ptr::null(), std::ptr::null(), 0) };
    process::own_settings();
    let Some(board) = board() else { return };
    board.launcher.enter();
    let now = Instant::now();
    let mut launcher = Launcher {
        board,
        databases: HashMap::new(),
        starting: HashMap::new(),
        started: HashMap::new(),
        next_list: now,
        next_slot_warning: now,
    };
    loop {
        launcher.look();
        process::report(pg_sys::BackendState::STATE_IDLE, c"");
        process::wait(None, launcher.sleep());
    }
}

impl Launcher {
    fn look(&mut self) {
        let now = Instant::now();
        self.collect(now);
        let news = self.board.take_news();
        let overflow = self.board.news_overflow.swap(false, Ordering::AcqRel);
        if now >= self.next_list || overflow || !news.is_empty() {
            self.list(now);
        }
        for (oid, database) in &mut self.databases {
            if overflow || news.contains(oid) || now >= database.next_probe {
                database.wanted = true;
                database.next_probe = now + PROBE_EVERY;
                if news.contains(oid) {
                    database.renewed = true;
                    database.next_try = now;
                }
            }
        }
        self.start_workers(now);
    }

    fn sleep(&self) -> Duration {
        let now = Instant::now();
        let retry = self.databases.values().filter(|d| d.wanted && d.next_try > now).map(|d| d.next_try).min();
        retry
            .unwrap_or(self.next_list)
            .min(self.next_list)
            .saturating_duration_since(now)
            .max(Duration::from_millis(10))
    }

    fn list(&mut self, now: Instant) {
        self.next_list = now + LIST_EVERY;
        let Ok(listed) = store::upkeep::list_databases() else { return };
        let listed: Vec<u32> = listed.into_iter().map(|oid| oid.to_u32()).collect();
        self.databases.retain(|oid, _| listed.contains(oid));
        for oid in listed {
            self.databases.entry(oid).or_insert(Database {
                wanted: true,
                renewed: false,
                lacks_slot: false,
                next_try: now,
                backoff: FIRST_BACKOFF,
                next_probe: now + PROBE_EVERY,
            });
        }
    }

    /// Empties the seats of workers that left, and of those that never came.
    fn collect(&mut self, now: Instant) {
        for (index, seat) in self.board.seats.iter().enumerate() {
            let state = seat.state.load(Ordering::Acquire);
            if state != Seat::STARTING {
                self.starting.remove(&index);
            }
            let failed = state == Seat::STARTING && self.start_failed(index);
            if !(failed || state == Seat::LEFT || state == Seat::NO_EXTENSION) {
                continue;
            }
            let lived = self.started.remove(&index).map(|start| now - start);
            self.starting.remove(&index);
            if let Some(database) = self.databases.get_mut(&seat.database.load(Ordering::Acquire)) {
                database.wanted &= state != Seat::NO_EXTENSION || database.renewed;
                if lived.is_some_and(|lived| lived >= HEALTHY) {
                    database.backoff = FIRST_BACKOFF;
                    database.next_try = now;
                } else {
                    database.next_try = now + database.backoff;
                    database.backoff = (database.backoff * 2).min(LAST_BACKOFF);
                }
            }
            seat.database.store(0, Ordering::Release);
            seat.state.store(Seat::FREE, Ordering::Release);
        }
    }

    fn start_failed(&self, index: usize) -> bool {
        match self.starting.get(&index) {
            None => true,
            Some(starting) => match starting.handle.pid() {
                Ok(_) | Err(BackgroundWorkerStatus::NotYetStarted | BackgroundWorkerStatus::Started) => false,
                Err(_) => true,
            },
        }
    }

    fn start_workers(&mut self, now: Instant) {
        let due: Vec<u32> = self
            .databases
            .iter()
            .filter(|(oid, d)| d.wanted && d.next_try <= now && !self.board.is_kept_away(**oid))
            .map(|(oid, _)| *oid)
            .collect();
        for oid in due {
            let main = (0..guc::workers() as u32).map(|worker_no| (Seat::MAIN, worker_no));
            let sql = (0..guc::sql_workers() as u32).map(|worker_no| (Seat::SQL, worker_no));
            for (kind, worker_no) in main.chain(sql) {
                if self.seat_of(oid, kind, worker_no).is_some() {
                    continue;
                }
                // The first one finds out whether the extension is there; the others follow.
                if (kind, worker_no) != (Seat::MAIN, 0) && !self.is_at_work(oid) {
                    break;
                }
                let started = self.start(oid, kind, worker_no, now);
                if let Some(database) = self.databases.get_mut(&oid) {
                    database.lacks_slot = !started;
                }
                if !started {
                    break;
                }
            }
        }
        let missing_slot = self.databases.values().any(|database| database.wanted && database.lacks_slot);
        self.board.out_of_slots.store(missing_slot, Ordering::Release);
        if missing_slot && now >= self.next_slot_warning {
            self.next_slot_warning = now + SLOT_WARNING_EVERY;
            pgrx::ereport!(
                WARNING,
                PgSqlErrorCode::ERRCODE_INSUFFICIENT_RESOURCES,
                "rea could not start a worker: no free background worker slot",
                "Raise max_worker_processes and restart the server."
            );
        }
    }

    fn seat_of(&self, database: u32, kind: u32, worker_no: u32) -> Option<&'static Seat> {
        self.board.seats.iter().find(|seat| {
            seat.state.load(Ordering::Acquire) != Seat::FREE
                && seat.is_of(database, kind)
                && seat.worker_no.load(Ordering::Acquire) == worker_no
        })
    }

    fn is_at_work(&self, database: u32) -> bool {
        self.seat_of(database, Seat::MAIN, 0).is_some_and(|seat| seat.generation.load(Ordering::Acquire) != 0)
    }

    /// Takes a seat and asks for a process. False when there is no seat or no slot.
    fn start(&mut self, database: u32, kind: u32, worker_no: u32, now: Instant) -> bool {
        let free = (0..SEATS).find(|index| self.board.seats[*index].state.load(Ordering::Acquire) == Seat::FREE);
        let Some(index) = free else { return false };
        let seat = &self.board.seats[index];
        seat.database.store(database, Ordering::Release);
        seat.kind.store(kind, Ordering::Release);
        seat.worker_no.store(worker_no, Ordering::Release);
        seat.calling.store(false, Ordering::Release);
        seat.generation.store(0, Ordering::Release);
        seat.heartbeat.store(monotonic_ms(), Ordering::Release);
        seat.take_hints();
        seat.state.store(Seat::STARTING, Ordering::Release);
        let (name, function) = if kind == Seat::SQL {
            ("rea SQL worker", "rea_sql_worker_main")
        } else {
            ("rea worker", "rea_worker_main")
        };
        let started = BackgroundWorkerBuilder::new(&format!("{name} {worker_no}"))
            .set_type(name)
            .set_library(LIBRARY)
            .set_function(function)
            .set_argument(Some(pg_sys::Datum::from(index)))
            .set_notify_pid(unsafe { pg_sys::MyProcPid })
            .enable_spi_access()
            .set_restart_time(None)
            .load_dynamic();
        match started {
            Ok(handle) => {
                if let Some(database) = self.databases.get_mut(&database) {
                    database.renewed = false;
                }
                self.starting.insert(index, Starting { handle });
                self.started.insert(index, now);
                true
            }
            Err(_) => {
                seat.database.store(0, Ordering::Release);
                seat.state.store(Seat::FREE, Ordering::Release);
                if let Some(database) = self.databases.get_mut(&database) {
                    database.next_try = now + Duration::from_secs(5);
                }
                false
            }
        }
    }
}

static MY_SEAT: AtomicPtr<Seat> = AtomicPtr::new(std::ptr::null_mut());

/// Entry point of a worker process; the argument is the index of its seat.
#[pg_guard]
#[unsafe(no_mangle)]
pub extern "C-unwind" fn rea_worker_main(argument: pg_sys::Datum) {
    let Some((seat, extension)) = take_seat(argument) else { return };
    let Some(mut worker) = Worker::start(seat, extension) else { return };
    // The other workers of the database wait until this one is at work.
    worker.board.launcher.wake();
    let reason = worker.serve();
    pgrx::debug1!("rea worker leaves: {reason:?}");
    // Threads may be stuck in requests: the process ends without waiting for them.
    std::mem::forget(worker);
}

/// Connects a new process to its database and sits down. `None` when the extension is not there, or the seat is not
/// kept for it any more. The argument is the index of its seat.
pub fn take_seat(argument: pg_sys::Datum) -> Option<(&'static Seat, pg_sys::Oid)> {
    process::handle_signals();
    let seat = board().and_then(|board| board.seats.get(argument.value()))?;
    MY_SEAT.store(std::ptr::from_ref(seat).cast_mut(), Ordering::Release);
    // SAFETY: the callback only touches shared memory. The user is the bootstrap superuser, whatever its name.
    unsafe {
        pg_sys::before_shmem_exit(Some(leave_seat), pg_sys::Datum::from(0));
        let database = pg_sys::Oid::from(seat.database.load(Ordering::Acquire));
        pg_sys::BackgroundWorkerInitializeConnectionByOid(database, pg_sys::InvalidOid, 0);
    }
    process::own_settings();
    let extension = match store::transaction(|| Ok(store::upkeep::extension_oid())) {
        Ok(oid) => oid,
        Err(error) => pgrx::error!("rea worker could not look for the extension: {error}"),
    };
    if extension == pg_sys::InvalidOid {
        seat.state.store(Seat::NO_EXTENSION, Ordering::Release);
        return None;
    }
    seat.process.enter();
    // A launcher that started anew meanwhile may have given the seat up.
    let seated = seat.state.compare_exchange(Seat::STARTING, Seat::RUNNING, Ordering::AcqRel, Ordering::Acquire);
    seated.is_ok().then_some((seat, extension))
}

unsafe extern "C-unwind" fn leave_seat(_code: i32, _argument: pg_sys::Datum) {
    // SAFETY: null or a seat in shared memory.
    let Some(seat) = (unsafe { MY_SEAT.load(Ordering::Acquire).as_ref() }) else { return };
    let Some(board) = board() else { return };
    seat.generation.store(0, Ordering::Release);
    seat.process.leave();
    let _ = seat.state.compare_exchange(Seat::RUNNING, Seat::LEFT, Ordering::AcqRel, Ordering::Acquire);
    let _ = seat.state.compare_exchange(Seat::STARTING, Seat::LEFT, Ordering::AcqRel, Ordering::Acquire);
    let database = pg_sys::Oid::from(seat.database.load(Ordering::Acquire));
    super::wake::workers(database, Seat::QUEUE);
    board.launcher.wake();
}
