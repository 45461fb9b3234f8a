//! The threads that perform tasks, and the lists they share with the main thread.
//!
//! Contract: threads start when there is work for them, up to the limit, and leave after
//! [`LINGER`] without any. Idle threads form a stack: the one that worked last is woken first, so
//! that a few do the work when few are enough. Everything the main thread calls returns without
//! waiting for a request.
//!
//! Must never join a thread or wait for one, not even on drop: a server that stops fast exits the
//! process while requests hang.

use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant, SystemTime};

use super::http::Engine;
use super::inquiry::{Desk, Inquiry};
use super::lookup::{self, Lookup, Names};
use super::wake::Wake;
use super::{
    Answer, Completion, Job, PoolError, Request, Settings, Task, TransportError, descriptors, failure, script, threads,
    tls,
};

/// Time without work after which a thread leaves.
const LINGER: Duration = Duration::from_secs(30);

/// Performs jobs on threads of its own.
pub struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    work: Mutex<Work>,
    completed: Mutex<Vec<Completion>>,
    desk: Desk,
    running: AtomicUsize,
    wake: Wake,
    parts: Parts,
}

/// What tests replace.
pub(super) struct Parts {
    /// The blocking name look-up.
    pub(super) lookup: Lookup,
    /// Time without work after which a thread leaves.
    pub(super) linger: Duration,
    /// Performs one request.
    pub(super) perform: fn(&Engine, &Request) -> Answer,
}

impl Default for Parts {
    fn default() -> Self {
        Parts { lookup: lookup::system(), linger: LINGER, perform: Engine::perform }
    }
}

struct Work {
    queue: VecDeque<Job>,
    /// Threads without work, the one that worked last on top.
    idle: Vec<Arc<Sleeper>>,
    /// Threads alive, woken, working or idle.
    threads: usize,
    limit: usize,
    engine: Arc<Engine>,
    ca: Option<Vec<u8>>,
    settings: Settings,
    names: Names,
}

/// Jobs that one thread may work off before another is woken; measured on two cores.
const JOBS_PER_THREAD: usize = 16;

/// A thread on the idle list.
struct Sleeper {
    thread: Thread,
    /// Set by whoever takes it off the list.
    called: AtomicBool,
}

impl Sleeper {
    fn wake(&self) {
        self.called.store(true, Ordering::Release);
        self.thread.unpark();
    }

    /// Sleeps until called (`true`) or for `time` (`false`).
    fn sleep(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while !self.called.load(Ordering::Acquire) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            thread::park_timeout(left);
        }
        true
    }
}

impl Pool {
    /// A pool without threads; they come with the work. Raises the process's soft limit on open
    /// files as far as `settings` need it and the hard limit allows.
    ///
    /// # Errors
    /// [`PoolError`] if the CA file cannot be used or no event descriptor can be had.
    pub fn new(settings: &Settings) -> Result<Pool, PoolError> {
        Pool::with(settings, Parts::default())
    }

    pub(super) fn with(settings: &Settings, parts: Parts) -> Result<Pool, PoolError> {
        let names = Names::new(parts.lookup.clone());
        let ca = tls::read_ca(settings.ca_file.as_deref())?;
        let (limit, idle_limit) = socket_share(settings);
        let engine = Arc::new(engine(settings, ca.as_deref(), &names, idle_limit)?);
        let work = Work {
            queue: VecDeque::new(),
            idle: Vec::new(),
            threads: 0,
            limit,
            engine,
            ca,
            settings: settings.clone(),
            names,
        };
        let shared = Shared {
            work: Mutex::new(work),
            completed: Mutex::default(),
            desk: Desk::default(),
            running: AtomicUsize::new(0),
            wake: Wake::new().map_err(PoolError::Wake)?,
            parts,
        };
        Ok(Pool { shared: Arc::new(shared) })
    }

    /// Queues `jobs` and wakes a few threads for them: a fast receiver is served best by few. If jobs
    /// are still [`Pool::queued`] a moment later, call [`Pool::reinforce`].
    pub fn submit(&self, jobs: Vec<Job>) {
        if jobs.is_empty() {
            return;
        }
        let first = jobs.len().div_ceil(JOBS_PER_THREAD);
        let mut work = self.shared.work();
        work.queue.extend(jobs);
        self.shared.muster(work, first);
    }

    /// Sees to it that a thread is awake for each queued job, up to the limit.
    pub fn reinforce(&self) {
        self.shared.muster(self.shared.work(), usize::MAX);
    }

    /// Moves all completions to the end of `into` and clears the event descriptor.
    pub fn take(&self, into: &mut Vec<Completion>) {
        self.shared.wake.clear();
        into.append(&mut self.shared.completed());
    }

    /// What scripts want to know, each asked once. To be called after [`Pool::take`], which clears the descriptor.
    pub fn inquiries(&self) -> Vec<Inquiry> {
        self.shared.desk.take()
    }

    /// A descriptor that is readable while there are completions or inquiries to take (and now and then when
    /// there are none). It belongs to the pool.
    pub fn wake_fd(&self) -> RawFd {
        self.shared.wake.fd()
    }

    /// Applies changed settings. Threads above a lower limit leave when they have no job in hand;
    /// a request under way keeps the settings it began with. The CA file is read again even if its
    /// name is the same.
    ///
    /// # Errors
    /// [`PoolError`] if the CA file cannot be used; then nothing is changed.
    pub fn reconfigure(&self, settings: &Settings) -> Result<(), PoolError> {
        let ca = tls::read_ca(settings.ca_file.as_deref())?;
        let (limit, idle_limit) = socket_share(settings);
        let mut work = self.shared.work();
        let same_connections =
            work.ca == ca && work.settings.max_idle_connections == settings.max_idle_connections && work.limit == limit;
        work.engine = Arc::new(if same_connections {
            work.engine.with_limit(settings.max_response_bytes)
        } else {
            engine(settings, ca.as_deref(), &work.names, idle_limit)?
        });
        work.ca = ca;
        work.limit = limit;
        work.settings = settings.clone();
        let surplus = work.threads.saturating_sub(limit).min(work.idle.len());
        let leaving = work.idle.drain(..surplus).collect::<Vec<_>>();
        self.shared.muster(work, usize::MAX);
        leaving.iter().for_each(|sleeper| sleeper.wake());
        Ok(())
    }

    /// Most requests at the same time.
    pub fn capacity(&self) -> usize {
        self.shared.work().limit
    }

    /// Jobs that no thread has taken up yet.
    pub fn queued(&self) -> usize {
        self.shared.work().queue.len()
    }

    /// Requests under way.
    pub fn running(&self) -> usize {
        self.shared.running()
    }

    /// Threads alive, idle ones included.
    pub fn threads(&self) -> usize {
        self.shared.work().threads
    }
}

impl Drop for Pool {
    /// Forgets queued jobs and lets the threads go; those in a request go when it ends.
    fn drop(&mut self) {
        let mut work = self.shared.work();
        work.limit = 0;
        work.queue.clear();
        let idle = std::mem::take(&mut work.idle);
        drop(work);
        idle.iter().for_each(|sleeper| sleeper.wake());
    }
}

/// Threads and idle connections that the limit on open files has room for.
fn socket_share(settings: &Settings) -> (usize, usize) {
    let threads = settings.max_threads.max(1);
    let wanted = threads.saturating_add(settings.max_idle_connections);
    let room = descriptors::room_for(wanted);
    if room >= wanted {
        (threads, settings.max_idle_connections)
    } else {
        let threads = threads.min(room.div_ceil(2));
        (threads, settings.max_idle_connections.min(room - threads))
    }
}

fn engine(settings: &Settings, ca: Option<&[u8]>, names: &Names, idle_limit: usize) -> Result<Engine, PoolError> {
    let tls = tls::config(settings.ca_file.as_deref(), ca)?;
    Ok(Engine::new(tls, names.clone(), idle_limit, settings.max_response_bytes))
}

impl Shared {
    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn completed(&self) -> MutexGuard<'_, Vec<Completion>> {
        self.completed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// Wakes or starts a thread for each queued job that no thread is about to take, `most` of them
    /// and as far as the limit allows.
    fn muster(self: &Arc<Self>, mut work: MutexGuard<'_, Work>, most: usize) {
        let seeking = work.threads.saturating_sub(work.idle.len() + self.running());
        let wanted = work.queue.len().min(most).saturating_sub(seeking);
        let keep = work.idle.len().saturating_sub(wanted);
        let woken = work.idle.split_off(keep);
        let missing = wanted.saturating_sub(woken.len()).min(work.limit.saturating_sub(work.threads));
        let refused = (0..missing).find_map(|_| self.enlist(&mut work).err());
        let stranded = match refused {
            Some(_) if work.threads == 0 => std::mem::take(&mut work.queue),
            _ => VecDeque::new(),
        };
        drop(work);
        woken.iter().rev().for_each(|sleeper| sleeper.wake());
        for job in stranded {
            let why = failure::new(TransportError::Local, "could not start a thread");
            self.complete(completion(job.token, || Answer::Failed(why)));
        }
    }

    fn enlist(self: &Arc<Self>, work: &mut Work) -> std::io::Result<()> {
        let shared = self.clone();
        threads::spawn("rea http", threads::REQUEST_STACK, move || shared.serve())?;
        work.threads += 1;
        Ok(())
    }

    fn serve(&self) {
        while let Some((job, engine)) = self.next() {
            let completion = completion(job.token, || {
                threads::catch(|| self.perform(&engine, &job)).unwrap_or_else(Answer::Panicked)
            });
            self.running.fetch_sub(1, Ordering::Relaxed);
            self.complete(completion);
        }
    }

    fn perform(&self, engine: &Engine, job: &Job) -> Answer {
        match &job.task {
            Task::Http(request) => (self.parts.perform)(engine, request),
            Task::Script(task) => script::perform(
                task,
                |request| (self.parts.perform)(engine, request),
                |question, left| self.desk.ask(job.token, question, left, &self.wake),
            ),
        }
    }

    /// The next job, or `None` if this thread is to leave.
    fn next(&self) -> Option<(Job, Arc<Engine>)> {
        let mut work = self.work();
        loop {
            if work.threads > work.limit {
                break;
            }
            if let Some(job) = work.queue.pop_front() {
                self.running.fetch_add(1, Ordering::Relaxed);
                return Some((job, work.engine.clone()));
            }
            let sleeper = work.lie_down();
            drop(work);
            let called = sleeper.sleep(self.parts.linger);
            work = self.work();
            if !called && work.dismiss(&sleeper) {
                break;
            }
        }
        work.threads -= 1;
        let engine = work.engine.clone();
        drop(work);
        engine.sweep();
        None
    }

    fn complete(&self, completion: Completion) {
        let mut completed = self.completed();
        let was_empty = completed.is_empty();
        completed.push(completion);
        drop(completed);
        if was_empty {
            self.wake.raise();
        }
    }
}

impl Work {
    /// Puts the calling thread on the idle list.
    fn lie_down(&mut self) -> Arc<Sleeper> {
        let sleeper = Arc::new(Sleeper { thread: thread::current(), called: AtomicBool::new(false) });
        self.idle.push(sleeper.clone());
        sleeper
    }

    /// Takes `sleeper` off the idle list; `false` if it was not on it (it has been called).
    fn dismiss(&mut self, sleeper: &Arc<Sleeper>) -> bool {
        let place = self.idle.iter().position(|idle| Arc::ptr_eq(idle, sleeper));
        place.map(|place| self.idle.remove(place)).is_some()
    }
}

/// Runs `perform` and takes the time.
fn completion(token: u64, perform: impl FnOnce() -> Answer) -> Completion {
    let started = SystemTime::now();
    let from = Instant::now();
    let answer = perform();
    let elapsed = from.elapsed();
    Completion { token, answer, started, ended: started + elapsed, elapsed }
}
