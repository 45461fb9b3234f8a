//! The pool: every job is answered once, threads come and go, nothing blocks the caller.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use super::sink::{Peer, Sink, ok};
use super::tls::{TemporaryFile, served_by_own_ca};
use super::{LIMIT, eventually, request};
use crate::action::http::Engine;
use crate::action::pool::Parts;
use crate::action::{
    Answer, Completion, Job, Pool, PoolError, Reply, Request, Settings, Task, TransportError, threads,
};

pub(super) fn settings(max_threads: usize) -> Settings {
    Settings { max_threads, max_response_bytes: LIMIT, ca_file: None, max_idle_connections: max_threads }
}

fn jobs(tokens: impl IntoIterator<Item = u64>, request: &Request) -> Vec<Job> {
    tokens.into_iter().map(|token| Job { token, task: Task::Http(request.clone()) }).collect()
}

/// Whether the descriptor is readable within `millis`.
pub(super) fn is_raised(pool: &Pool, millis: i32) -> bool {
    let mut fd = libc::pollfd { fd: pool.wake_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid pollfd.
    unsafe { libc::poll(&mut fd, 1, millis) == 1 }
}

/// Takes completions as the worker does, until there are `count`.
#[track_caller]
pub(super) fn collect(pool: &Pool, count: usize) -> Vec<Completion> {
    let mut completions = Vec::new();
    let until = Instant::now() + Duration::from_secs(20);
    while completions.len() < count {
        assert!(Instant::now() < until, "{} of {count}", completions.len());
        is_raised(pool, 100);
        pool.take(&mut completions);
    }
    completions
}

fn empty_reply() -> Answer {
    let (headers, body) = (Vec::new(), Vec::new());
    Answer::Reply(Reply { status: 200, headers, body, cut: false, cut_reason: None })
}

fn pool_performing(max_threads: usize, perform: fn(&Engine, &Request) -> Answer) -> Pool {
    Pool::with(&settings(max_threads), Parts { perform, ..Parts::default() }).unwrap()
}

#[test]
fn every_job_is_answered_once_and_over_few_connections() {
    let sink = Sink::answering(ok("x"));
    let pool = Pool::new(&settings(8)).unwrap();
    let mut tokens = BTreeSet::new();
    for round in 0..10 {
        pool.submit(jobs(round * 100..round * 100 + 100, &request(sink.url())));
        for completion in collect(&pool, 100) {
            assert!(matches!(completion.answer, Answer::Reply(_)), "{completion:?}");
            assert!(completion.ended >= completion.started);
            tokens.insert(completion.token);
        }
    }
    assert_eq!((tokens.len(), sink.requests()), (1000, 1000));
    assert!(sink.connections() <= 8 && pool.threads() <= 8);
    assert_eq!((pool.queued(), pool.running()), (0, 0));
}

#[test]
fn the_descriptor_is_raised_by_completions_and_cleared_by_taking_them() {
    let pool = pool_performing(2, |_, _| empty_reply());
    assert!(!is_raised(&pool, 0));
    pool.submit(jobs(0..3, &request("")));
    pool.reinforce();
    assert!(is_raised(&pool, 5000));
    collect(&pool, 3);
    eventually("the descriptor is quiet", || {
        pool.take(&mut Vec::new());
        !is_raised(&pool, 0)
    });
}

#[test]
fn threads_grow_with_the_work_up_to_the_limit() {
    let sink = Sink::new(Peer::hang);
    let pool = Pool::new(&settings(6)).unwrap();
    assert_eq!((pool.threads(), pool.capacity()), (0, 6));
    let stuck = Request { timeout: Duration::from_secs(1), ..request(sink.url()) };
    pool.submit(jobs(0..2, &stuck));
    pool.reinforce();
    eventually("two run", || pool.running() == 2);
    assert_eq!(pool.threads(), 2);
    pool.submit(jobs(2..20, &stuck));
    pool.reinforce();
    eventually("six run", || pool.running() == 6);
    assert_eq!((pool.threads(), pool.queued()), (6, 14));
}

#[test]
fn one_job_at_a_time_needs_one_thread() {
    let pool = pool_performing(8, |_, _| empty_reply());
    for token in 0..200 {
        pool.submit(jobs([token], &request("")));
        collect(&pool, 1);
    }
    assert!(pool.threads() <= 2, "{}", pool.threads());
}

#[test]
fn idle_threads_leave_and_new_work_brings_them_back() {
    let parts = Parts { linger: Duration::from_millis(50), perform: |_, _| empty_reply(), ..Parts::default() };
    let pool = Pool::with(&settings(4), parts).unwrap();
    for _ in 0..3 {
        pool.submit(jobs(0..50, &request("")));
        collect(&pool, 50);
        eventually("all have left", || pool.threads() == 0);
    }
}

#[test]
fn a_panic_is_an_answer_and_the_thread_goes_on() {
    let pool = pool_performing(1, |_, request| match request.method.as_str() {
        "GET" => panic!("broken {}", request.method),
        _ => empty_reply(),
    });
    pool.submit(jobs([1], &super::get("")));
    pool.submit(jobs([2], &request("")));
    pool.reinforce();
    let mut completions = collect(&pool, 2);
    completions.sort_by_key(|completion| completion.token);
    let [panicked, fine] = completions.as_slice() else { panic!("{completions:?}") };
    let Answer::Panicked(text) = &panicked.answer else { panic!("{panicked:?}") };
    assert!(text.contains("tests/pool.rs:") && text.ends_with(": broken GET"), "{text}");
    assert!(matches!(fine.answer, Answer::Reply(_)));
    assert_eq!(pool.threads(), 1);
}

#[test]
fn a_lower_limit_lets_threads_go_and_a_higher_one_brings_more() {
    static GATE: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());
    let pool = pool_performing(6, |_, _| {
        let open = GATE.0.lock().unwrap();
        drop(GATE.1.wait_while(open, |open| !*open).unwrap());
        empty_reply()
    });
    pool.submit(jobs(0..10, &request("")));
    pool.reinforce();
    eventually("six run", || pool.running() == 6);
    pool.reconfigure(&settings(8)).unwrap();
    eventually("eight run", || pool.running() == 8);
    pool.reconfigure(&settings(2)).unwrap();
    assert_eq!((pool.capacity(), pool.threads()), (2, 8), "nobody is stopped in the middle");
    *GATE.0.lock().unwrap() = true;
    GATE.1.notify_all();
    collect(&pool, 10);
    eventually("two are left", || pool.threads() == 2);
}

#[test]
fn dropping_the_pool_waits_for_nothing() {
    let sink = Sink::new(Peer::hang);
    let pool = Pool::new(&settings(4)).unwrap();
    pool.submit(jobs(0..8, &Request { timeout: Duration::from_secs(5), ..request(sink.url()) }));
    pool.reinforce();
    eventually("all are stuck", || sink.connections() == 4);
    let from = Instant::now();
    drop(pool);
    assert!(from.elapsed() < Duration::from_secs(1), "{:?}", from.elapsed());
}

#[test]
fn a_stuck_receiver_does_not_hold_up_another() {
    let (stuck, healthy) = (Sink::new(Peer::hang), Sink::answering(ok("x")));
    let pool = Pool::new(&settings(8)).unwrap();
    let timeout = Duration::from_secs(3);
    pool.submit(jobs(0..6, &Request { timeout, ..request(stuck.url()) }));
    pool.reinforce();
    let from = Instant::now();
    pool.submit(jobs(100..150, &request(healthy.url())));
    pool.reinforce();
    let completions = collect(&pool, 50);
    assert!(from.elapsed() < Duration::from_secs(2), "{:?}", from.elapsed());
    assert!(completions.iter().all(|completion| completion.token >= 100));
    assert_eq!(collect(&pool, 6).len(), 6);
}

#[test]
fn threads_take_no_signals() {
    static SEEN: Mutex<Option<String>> = Mutex::new(None);
    let pool = pool_performing(1, |_, _| {
        *SEEN.lock().unwrap() = std::fs::read_to_string("/proc/thread-self/status").ok();
        empty_reply()
    });
    pool.submit(jobs([1], &request("")));
    collect(&pool, 1);
    let status = SEEN.lock().unwrap().clone().unwrap();
    let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap().trim();
    // All but KILL and STOP, and the two that the C library keeps for itself.
    assert_eq!(u64::from_str_radix(blocked, 16).unwrap(), 0xffff_fffe_7ffb_feff & !(0b11 << 31));
    assert!(status.starts_with("Name:\trea http\n"), "{status}");
    let own = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    assert!(own.contains("SigBlk:\t0000000000000000"), "{own}");
}

#[test]
fn the_ca_file_can_be_changed_without_a_new_pool() {
    let (sink, pem) = served_by_own_ca();
    let https = request(sink.url().replace("http:", "https:"));
    let pool = Pool::new(&settings(2)).unwrap();
    pool.submit(jobs([1], &https));
    let Answer::Failed(failure) = &collect(&pool, 1)[0].answer else { panic!("accepted") };
    assert_eq!(failure.kind, TransportError::Tls);

    let file = TemporaryFile::new(&pem);
    let with_ca = Settings { ca_file: Some(file.0.clone()), ..settings(2) };
    pool.reconfigure(&with_ca).unwrap();
    pool.submit(jobs([2], &https));
    assert!(matches!(collect(&pool, 1)[0].answer, Answer::Reply(_)));

    std::fs::write(&file.0, "rubbish").unwrap();
    let error = pool.reconfigure(&with_ca).unwrap_err();
    assert!(matches!(error, PoolError::CaInvalid { .. }), "{error}");
    pool.submit(jobs([3], &https));
    assert!(matches!(collect(&pool, 1)[0].answer, Answer::Reply(_)), "the old one is kept");
}

#[test]
fn a_changed_size_limit_keeps_the_connections() {
    let sink = Sink::answering(ok("0123456789"));
    let pool = Pool::new(&settings(1)).unwrap();
    for (limit, cut) in [(LIMIT, false), (10, false), (9, true)] {
        pool.reconfigure(&Settings { max_response_bytes: limit, ..settings(1) }).unwrap();
        pool.submit(jobs([1], &request(sink.url())));
        let completions = collect(&pool, 1);
        let Answer::Reply(reply) = &completions[0].answer else { panic!("{completions:?}") };
        assert_eq!((reply.cut, reply.body.len()), (cut, limit.min(10)));
    }
    assert_eq!(sink.connections(), 1);
}

#[test]
fn a_panic_tells_its_place_and_text() {
    let text = threads::catch(|| panic!("why")).map(|()| String::new()).unwrap_err();
    assert!(text.ends_with(": why"), "{text}");
    assert_eq!(threads::catch(|| 7), Ok(7));
}

#[test]
fn a_batch_wakes_few_threads_until_it_is_reinforced() {
    let sink = Sink::new(Peer::hang);
    let pool = Pool::new(&settings(64)).unwrap();
    pool.submit(jobs(0..40, &request(sink.url())));
    assert_eq!(pool.threads(), 3, "one for each sixteen jobs");
    pool.reinforce();
    assert_eq!(pool.threads(), 40);
}
