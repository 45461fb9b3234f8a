//! Scripts on threads of the pool: their requests, their questions, their end.

use std::time::{Duration, Instant};

use super::pool::{collect, is_raised, settings};
use super::sink::{Peer, Sink, ok};
use crate::action::{Answer, Job, Pool, Question, ScriptTask, Task};
use crate::script::{ErrorCode, Limits, Outcome, Report, Script};

fn job(token: u64, source: &str, wall: Duration) -> Job {
    let script = Script { name: "trial".into(), source: source.into(), context: "{}".into(), args: "{}".into() };
    let limits = Limits {
        wall,
        cpu: None,
        memory: 16 << 20,
        output: 1 << 20,
        keep_debug: false,
        summary_chars: 100,
        cancelled: || false,
    };
    let headers = vec![("User-Agent".into(), "rea/test".into())];
    let task = ScriptTask { script, limits, headers, idempotency_key: "key".into(), request_id: "id_1".into() };
    Job { token, task: Task::Script(Box::new(task)) }
}

#[track_caller]
fn report(answer: &Answer) -> &Report {
    match answer {
        Answer::Script(report) => report,
        other => panic!("no script: {other:?}"),
    }
}

#[track_caller]
fn run(source: &str, wall: Duration) -> Report {
    let pool = Pool::new(&settings(1)).unwrap();
    pool.submit(vec![job(1, source, wall)]);
    report(&collect(&pool, 1)[0].answer).clone()
}

const LONG: Duration = Duration::from_secs(20);

#[test]
fn requests_of_a_script_say_where_they_come_from() {
    let sink = Sink::new(|mut peer: Peer| {
        while let Some(request) = peer.request() {
            peer.say(ok(request));
        }
    });
    let source = format!(
        "local h = {{['X-Rea-Req-Id'] = 'forged', ['x-rea-instance-id'] = 'forged', ['user-agent'] = 'forged', tag = 1}}
         local one = rea.http{{url = '{url}', headers = h}}
         local two = rea.http{{url = '{url}', body = {{}}, headers = {{['idempotency-key'] = 'own'}}}}
         return {{one.body:lower(), two.body:lower()}}",
        url = sink.url()
    );
    let Outcome::Returned(json) = run(&source, LONG).outcome else { panic!("it failed") };
    let sent: Vec<String> = serde_json::from_str(&json).unwrap();
    for line in ["get /", "x-rea-req-id: id_1_1", "idempotency-key: key_1", "user-agent: rea/test", "tag: 1"] {
        assert!(sent[0].contains(line), "{line}: {}", sent[0]);
    }
    assert!(!sent[0].contains("forged"), "{}", sent[0]);
    for line in ["post /", "x-rea-req-id: id_1_2", "idempotency-key: own", "content-type: application/json"] {
        assert!(sent[1].contains(line), "{line}: {}", sent[1]);
    }
}

#[test]
fn a_request_that_hangs_ends_with_the_time_of_the_script() {
    let sink = Sink::new(Peer::hang);
    let from = Instant::now();
    let source = format!("while true do rea.http{{url = '{}'}} end", sink.url());
    let report = run(&source, Duration::from_millis(300));
    assert!(matches!(report.outcome, Outcome::Error { code: ErrorCode::Timeout, .. }), "{report:?}");
    assert!(from.elapsed() < Duration::from_millis(1300), "{:?}", from.elapsed());
    assert!(report.calls[0].result.starts_with("timeout: timed out"), "{report:?}");
}

#[test]
fn questions_go_to_the_main_thread_and_come_back() {
    let pool = Pool::new(&settings(1)).unwrap();
    pool.submit(vec![job(7, "return {rea.kv.get('a'), rea.config('b') == nil, (pcall(rea.kv.get, 'c'))}", LONG)]);
    for (question, reply) in [
        (Question::Kv("a".into()), Ok(Some("[1]".to_owned()))),
        (Question::Config("b".into()), Ok(None)),
        (Question::Kv("c".into()), Err("the database said no".to_owned())),
    ] {
        let until = Instant::now() + Duration::from_secs(10);
        let inquiry = loop {
            assert!(Instant::now() < until, "nobody asks");
            assert!(is_raised(&pool, 5000));
            let mut none = Vec::new();
            pool.take(&mut none);
            if let Some(inquiry) = pool.inquiries().pop() {
                break inquiry;
            }
        };
        assert_eq!((inquiry.token, &inquiry.question), (7, &question));
        inquiry.answer(reply);
    }
    let completions = collect(&pool, 1);
    assert_eq!(report(&completions[0].answer).outcome, Outcome::Returned("[[1],true,false]".into()));
}

#[test]
fn a_question_that_nobody_answers_ends_with_the_time_of_the_script() {
    let from = Instant::now();
    let report = run("while true do pcall(rea.kv.get, 'a') end", Duration::from_millis(300));
    assert!(matches!(report.outcome, Outcome::Error { code: ErrorCode::Timeout, .. }), "{report:?}");
    assert!(from.elapsed() < Duration::from_millis(1300), "{:?}", from.elapsed());
}

#[test]
fn scripts_and_requests_share_the_threads() {
    let sink = Sink::answering(ok("x"));
    let pool = Pool::new(&settings(4)).unwrap();
    let stuck = job(1, "while true do end", Duration::from_millis(500));
    pool.submit(vec![stuck]);
    pool.submit((2..10).map(|token| Job { token, task: Task::Http(super::request(sink.url())) }).collect());
    pool.reinforce();
    let tokens: Vec<u64> = collect(&pool, 9).iter().map(|completion| completion.token).collect();
    assert_eq!(tokens.len(), 9);
    assert_eq!(tokens.iter().max(), Some(&9));
}
