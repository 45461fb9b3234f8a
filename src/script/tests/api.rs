//! What `rea` offers.

use super::super::check;
use super::super::compile::CompileError;
use super::{
    ErrorCode, HttpResponse, Limits, Outcome, World, broken, limits, report, report_with, returned, run, script,
};
use std::time::Duration;

fn response(status: u16, body: &str) -> HttpResponse {
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    HttpResponse { status, headers, body: body.as_bytes().to_vec(), cut: false }
}

#[test]
fn http_sends_what_it_is_given_and_gives_back_what_comes() {
    let mut world = World::default();
    world.answers.insert("http://stock/a?key=secret".into(), response(201, r#"{"id": 12345678901234567890}"#));
    let source = "local r = rea.http{url = 'http://stock/a?key=secret', body = {qty = 2}, headers = {['X-Tag'] = 'é', N = 7}, timeoutMs = 50}
        return {r.status, r.headers['content-type'], r.body.id, r.cut}";
    let report = run(&script(source), &mut world, &limits());
    assert_eq!(report.outcome, Outcome::Returned(r#"[201,"application/json",12345678901234567890,false]"#.into()));
    let sent = &world.requests[0];
    assert_eq!((sent.method.as_str(), sent.body.as_deref()), ("POST", Some(r#"{"qty":2}"#)));
    assert_eq!(sent.timeout, Duration::from_millis(50));
    let headers: Vec<_> = sent.headers.iter().map(|(n, v)| format!("{n}: {v}")).collect();
    assert_eq!(headers, ["N: 7", "X-Tag: é", "content-type: application/json"]);
    assert_eq!((report.calls[0].kind, report.calls[0].target.as_str()), ("http", "POST http://stock/a"));
    assert_eq!(report.calls[0].result, "201");
}

#[test]
fn a_request_without_an_answer_is_nil_and_a_reason() {
    let report =
        report("local r, why, kind = rea.http{url = 'http://u:p@nowhere/x#y'} return {tostring(r), why, kind}");
    assert_eq!(report.outcome, Outcome::Returned(r#"["nil","could not connect","connect"]"#.into()));
    assert_eq!(report.calls[0].target, "GET http://nowhere/x");
    assert_eq!(report.calls[0].result, "connect: could not connect");
}

#[test]
fn bodies_are_json_text_or_nothing() {
    let mut world = World::default();
    for (url, body) in [("json", "[1]"), ("text", "hello"), ("none", ""), ("broken", "{\"a\":")] {
        world.answers.insert(url.into(), response(200, body));
    }
    let source = "local out = {} for _, u in {'json', 'text', 'none', 'broken'} do table.insert(out, rea.http{url = u}.body or 'nil') end return out";
    assert_eq!(
        run(&script(source), &mut world, &limits()).outcome,
        Outcome::Returned(r#"[[1],"hello","nil","{\"a\":"]"#.into())
    );
}

#[test]
fn mistakes_in_a_request_are_errors_with_the_line() {
    for (request, wanted) in [
        ("{}", "url is missing"),
        ("{url = 1, urll = 2}", "unknown member \"urll\"; a request has method, url"),
        ("{url = {}}", "url must be a string"),
        ("{url = 'x', headers = 7}", "headers must be a table of strings"),
        ("{url = 'x', headers = {a = {}}}", "header a must be a string"),
        ("{url = 'x', body = print}", "body: a function cannot be JSON"),
        ("{url = 'x', body = '\\xff'}", "body is not valid UTF-8"),
        ("{url = 'x', timeoutMs = 0}", "timeoutMs must be a number between"),
    ] {
        let (code, message) = broken(&format!("\nrea.http{request}"));
        assert_eq!(code, ErrorCode::Error);
        assert!(message.starts_with("trial:2: ") && message.contains(wanted), "{request}: {message}");
    }
}

#[test]
fn a_request_gets_no_more_time_than_the_script_has_left() {
    let mut world = World::default();
    run(&script("rea.http{url = 'x', timeoutMs = 86400000}"), &mut world, &limits());
    assert!(world.requests[0].timeout <= limits().wall);
}

#[test]
fn kv_reads_its_own_writes_and_hands_them_out_at_the_end() {
    let mut world = World::default();
    world.kv.insert("old".into(), r#"{"n": [1]}"#.into());
    let source = "local old, none = rea.kv.get('old'), rea.kv.get('none')
        rea.kv.set('a', {1}) rea.kv.set('b', rea.null, 60) rea.kv.set('old', nil) rea.kv.set('a', {2}, 0.5)
        return {old.n, tostring(none), rea.kv.get('a'), rea.kv.get('b') == rea.null, tostring(rea.kv.get('old'))}";
    let report = run(&script(source), &mut world, &limits());
    assert_eq!(report.outcome, Outcome::Returned(r#"[[1],"nil",[2],true,"nil"]"#.into()));
    let sets: Vec<_> = report.kv_sets.iter().map(|set| (set.key.as_str(), set.value.as_deref(), set.ttl)).collect();
    assert_eq!(
        sets,
        [
            ("b", Some("null"), Some(Duration::from_secs(60))),
            ("old", None, None),
            ("a", Some("[2]"), Some(Duration::from_millis(500)))
        ]
    );
    assert_eq!(report.calls.len(), 4);
    assert!(broken("rea.kv.get('broken')").1.contains("could not read the key-value store: no answer"));
}

#[test]
fn kv_refuses_what_it_cannot_keep() {
    for (source, wanted) in [
        ("rea.kv.set('', 1)", "key must be 1 to 512 bytes"),
        ("rea.kv.set(string.rep('k', 513), 1)", "key must be"),
        ("rea.kv.set({}, 1)", "key must be"),
        ("rea.kv.set('k', 1, 0)", "time to live"),
        ("rea.kv.set('k', 1, 0/0)", "time to live"),
        ("rea.kv.set('k', print)", "a function cannot be JSON"),
        ("rea.kv.set('k', string.rep('x', 300000))", "larger than 262144 bytes"),
        ("for i = 1, 2000 do rea.kv.set('k' .. i, 1) end", "at most 1000 keys"),
    ] {
        let (_, message) = broken(source);
        assert!(message.contains(wanted), "{source}: {message}");
    }
}

#[test]
fn config_is_read_by_key() {
    let mut world = World::default();
    world.config.insert("limit".into(), "[0.10]".into());
    let outcome =
        run(&script("return {rea.config('limit'), rea.config('none') == nil}"), &mut world, &limits()).outcome;
    assert_eq!(outcome, Outcome::Returned("[[0.1],true]".into()));
}

#[test]
fn the_log_keeps_debug_lines_only_on_demand() {
    let source = "rea.log('plain') rea.log('debug', {a = 1}) rea.log('warning', 7) print('x', nil, {1})";
    let lines = |limits: &Limits| -> Vec<String> {
        report_with(source, "{}", limits).log.iter().map(|line| format!("{} {}", line.level, line.text)).collect()
    };
    let usual = lines(&limits());
    assert_eq!(usual[..2], ["info plain", "warning 7"]);
    assert!(usual[2].starts_with("info x\tnil\ttable: 0x"), "{usual:?}");
    assert_eq!(lines(&Limits { keep_debug: true, ..limits() })[1], "debug {\"a\":1}");
    assert!(broken("rea.log('loud', 1)").1.contains("level must be"));
}

#[test]
fn the_log_and_the_list_of_calls_are_bounded() {
    let report = report("for i = 1, 5000 do rea.log(string.rep('x', 100)) rea.http{url = 'x'} end");
    assert_eq!((report.log.len() as u64 + report.log_dropped, report.calls.len()), (5000, 100));
    assert_eq!(report.calls_dropped, 4900);
    assert!(report.log_json().len() < 100_000 && report.calls_json().ends_with(r#"{"dropped":4900}]"#));
}

#[test]
fn retry_and_fail_end_the_script_at_once_and_cannot_be_caught() {
    let retry = |after| Outcome::Retry { reason: "busy".into(), after };
    assert_eq!(report("rea.retry('busy', 1.5) return 1").outcome, retry(Some(Duration::from_millis(1500))));
    for wrap in [
        "pcall(rea.retry, 'busy') return 1",
        "pcall(function() rea.retry('busy') end) rea.http{url = 'x'} return 1",
        "xpcall(rea.retry, function() return rea.http{url = 'x'} end, 'busy') return 2",
        "coroutine.wrap(function() rea.retry('busy') end)() return 1",
        "coroutine.resume(coroutine.create(rea.retry), 'busy') rea.kv.set('k', 1) return 1",
        "pcall(rea.retry, 'busy') while true do pcall(rea.fail, 'no') end",
        "setmetatable({}, {__index = function() rea.retry('busy') end}).x()",
        "local ok = pcall(rea.retry, 'busy') error('other')",
    ] {
        let report = report(wrap);
        assert_eq!(report.outcome, retry(None), "{wrap}");
        assert!(report.calls.is_empty(), "{wrap}");
    }
    let fail = |code: &str| Outcome::Fail { code: code.into(), reason: "{\"a\":1}".into() };
    assert_eq!(report("rea.fail({a = 1})").outcome, fail("script_failed"));
    assert_eq!(report("pcall(rea.fail, {a = 1}, 'no_stock')").outcome, fail("no_stock"));
    assert!(broken("rea.fail('x', 'No')").1.contains("code must be"));
    assert!(broken("rea.retry('x', -1)").1.contains("seconds must be"));
}

#[test]
fn errors_of_every_kind_are_readable() {
    for (source, wanted) in [
        ("\nerror('bad')", "trial:2: bad"),
        ("local x = nil\nreturn x.y", "trial:2: attempt to index nil with 'y'"),
        ("error({code = 7})", "trial:1: {\"code\":7}"),
        ("error()", "trial:1: nil"),
        ("error(nil)", "trial:1: nil"),
        ("error(true)", "trial:1: true"),
        ("error(setmetatable({}, {__tostring = function() return 'told' end}))", "told"),
        ("error(setmetatable({}, {__tostring = function() error('worse') end}))", "unreadable error"),
        ("error(setmetatable({}, {__tostring = function() return {} end}))", "unreadable error"),
        ("error(print)", "function: 0x"),
        ("error('a\\0b\\xff')", "a\u{fffd}b\u{fffd}"),
        ("assert(false, 'no')", "no"),
        ("('x'):rep('y')", "trial:1: invalid argument #2 to 'rep'"),
        ("string.find()", "missing argument #1 to 'find'"),
        ("local function f() return f() + 1 end f()", "stack overflow"),
        ("coroutine.wrap(function() error('inside') end)()", "inside"),
        ("coroutine.yield()", "attempt to yield"),
        ("string.find('a', '[')", "malformed pattern"),
        ("table.sort({3, 2, 1, 4, 5}, function() return true end)", "invalid order function"),
        ("table.sort({1, 'a', 3})", "attempt to compare"),
    ] {
        let (code, message) = broken(source);
        assert_eq!(code, ErrorCode::Error, "{source}: {message}");
        assert!(message.contains(wanted), "{source}: {message}");
    }
}

#[test]
fn a_source_that_does_not_compile_says_where() {
    assert_eq!(broken("local x =\nlocal y").0, ErrorCode::Compile);
    assert!(broken("\n\nx = = 1").1.starts_with("trial:3: "));
    assert!(matches!(check("a b"), Err(CompileError::Syntax { line: 1, .. })));
    assert!(matches!(check(&" ".repeat(300_000)), Err(CompileError::TooLong(300_000))));
    for deep in ["(", "{", "f(", "-", "not ", "do ", "function f() ", "[["] {
        let _ = check(&deep.repeat(200_000 / deep.len()));
    }
    assert_eq!(
        check("local t: {[string]: number} = {} t.a += 1 for _ in t do continue end return if t then 7 // 2 else 0"),
        Ok(())
    );
}

#[test]
fn data_that_is_changed_is_read_anew() {
    assert_eq!(returned("ctx.a = {b = 1} ctx.a.b = 2 local n = ctx.a.b args = 7 return {n, args}"), "[2,7]");
    assert_eq!(returned("mine = {} mine.a = 1 mine.a = 2 return mine.a"), "2");
}
