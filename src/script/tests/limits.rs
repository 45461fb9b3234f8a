//! The worst scripts end in time and within their memory, and the outcome says which limit it was.

use super::{ErrorCode, Limits, Outcome, World, limits, report_with, run, script};
use std::time::{Duration, Instant};

const WALL: Duration = Duration::from_millis(200);
const MEMORY: usize = 16 << 20;

fn tight() -> Limits {
    Limits { wall: WALL, memory: MEMORY, ..limits() }
}

/// Runs it, checks time and memory, and gives the code.
#[track_caller]
fn ended(source: &str, limits: &Limits) -> ErrorCode {
    let from = Instant::now();
    let report = report_with(source, r#"{"a": [1, 2, 3]}"#, limits);
    assert!(from.elapsed() < limits.wall + Duration::from_secs(1), "{source}: {:?}", from.elapsed());
    assert!(report.peak_memory <= limits.memory, "{source}: {}", report.peak_memory);
    match report.outcome {
        Outcome::Error { code, .. } => code,
        other => panic!("{source}: {other:?}"),
    }
}

#[test]
fn endless_scripts_end_in_time_whatever_they_catch() {
    for source in [
        "while true do end",
        "repeat until false",
        "local function f() return f() end while true do pcall(f) end",
        "while true do pcall(function() while true do end end) end",
        "while true do pcall(error) end",
        "local function f() while true do end end while true do xpcall(f, f) end",
        "while true do xpcall(error, function() while true do end end) end",
        "local function g() while true do end end while true do coroutine.wrap(function() pcall(g) end)() end",
        "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
        "local c = coroutine.wrap(function() while true do coroutine.yield() end end) while true do pcall(c) end",
        "local function f() pcall(f) while true do end end f()",
        "local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) while true do pcall(function() return t[1] end) end",
        "local t = setmetatable({}, {__index = function() while true do end end}) return pcall(function() return t.x end)",
        "local t = setmetatable({}, {__tostring = function() while true do end end}) pcall(tostring, t) return 1",
        "error(setmetatable({}, {__tostring = function() while true do end end}))",
        "local m = {__lt = function() while true do end end} local t = {} for i = 1, 9 do t[i] = setmetatable({}, m) end pcall(table.sort, t)",
        "local m = {__eq = function() while true do end end} return setmetatable({}, m) == setmetatable({}, m)",
        "local m = {__concat = function() while true do end end} return setmetatable({}, m) .. 'x'",
        "local m = {__len = function() while true do end end} return #setmetatable({}, m)",
        "local m = {__iter = function() return function() return 1 end end} for _ in setmetatable({}, m) do end",
        "local m = {__call = function(self) return self() end} while true do pcall(setmetatable({}, m)) end",
        "for i = 1, math.huge do end",
        "for _ in function() return 1 end do end",
        "local t = {} for i = 1, 1000 do t[i] = i end while true do pcall(table.sort, t, function(a, b) return math.random() < 0.5 end) end",
        "while true do rea.http{url = 'x'} end",
        "while true do pcall(rea.http, {url = 'x'}) end",
        "while true do rea.log('x') rea.kv.get('x') rea.config('x') end",
        "while true do string.format('%99.99f', 1) end",
        "while true do rea.json.decode(rea.json.encode(ctx)) end",
        "string.gsub(string.rep('a', 1000), '', function() while true do end end)",
        "table.foreach(ctx, function() while true do end end)",
        "while true do select('#', table.unpack(table.create(5000, 1))) end",
        "while true do os.date() os.time() end",
        "local b = buffer.create(1e6) while true do buffer.fill(b, 0, 1) end",
        "local s = 'x' while true do s = string.reverse(s) if #s < 1e6 then s = s .. s end end",
        "while true do local _ = {} end",
        "while true do local _ = string.rep('x', 100000) .. math.random() end",
        "while true do debug.traceback() end",
    ] {
        assert_eq!(ended(source, &tight()), ErrorCode::Timeout, "{source}");
    }
}

#[test]
fn evil_library_calls_end_in_time() {
    for source in [
        "string.find(string.rep('a', 30000), string.rep('a?', 30000) .. string.rep('a', 30000))",
        "string.find(string.rep('a', 500000), '.-.-.-.-.-.-b')",
        "string.find(string.rep('a', 500000), '(.-)(.-)(.-)(.-)%4b')",
        "string.match(string.rep('(', 1000000), '%b()')",
        "string.gsub(string.rep('a', 1000000), '(a*)*b', '')",
        "string.find(string.rep('a', 4000000), string.rep('a', 2000000) .. 'b', 1, true) while true do end",
        "string.find(string.rep('a', 4000000), '[' .. string.rep('b', 2000000) .. 'a]*c')",
        "string.split(string.rep('a', 4000000), string.rep('a', 2000000) .. 'b')",
        "table.move({}, 1, 2^31 - 2, 1, {})",
        "table.move({1}, 1, 2^31 - 2, 2)",
        "local a, b = string.rep('a', 4e6) .. 'a', string.rep('a', 4e6) .. 'b' local t = {} for i = 1, 100000 do t[i] = if i % 2 == 0 then a else b end table.sort(t)",
        "local t = table.create(900000, 0) for i = 1, 900000 do t[i] = -i end table.sort(t, rawequal) while true do end",
        "string.rep('', 2^31 - 1) while true do end",
        "string.rep('x', 2^31 - 1)",
        "table.concat(table.create(100000, string.rep('x', 1000)))",
        "table.create(2^31 - 1)",
        "buffer.create(2^30)",
        "table.unpack({}, 1, 1e8)",
        "string.pack('c1000000000', 'x')",
        "return ('x'):rep(1e6):rep(1e6)",
        "utf8.char(table.unpack(table.create(100000, 1114111))):rep(1000)",
        "string.format('%s', string.rep('x', 1e9))",
        "local t = {} for i = 1, 22 do t = {t, t, t} end return t",
        "local t = setmetatable({}, {}) for i = 1, 1e5 do t = setmetatable({}, {__index = t}) end return t.x or error('deep')",
    ] {
        ended(source, &tight());
    }
}

#[test]
fn memory_is_bounded_and_cannot_be_had_by_catching_the_error() {
    for source in [
        "local t = {} while true do table.insert(t, {}) end",
        "local s = 'x' while true do s = s .. s end",
        "local t = {} while true do pcall(function() t[#t + 1] = string.rep('x', 100000) .. #t end) end",
        "while true do pcall(string.rep, 'x', 1e9) end",
        "pcall(string.rep, 'x', 1e9) return 1",
        "pcall(buffer.create, 1e9) return 1",
        "local t = {} while true do xpcall(table.create, function() return table.create(6e7) end, 6e7) end",
        "local t = {} while true do t[#t + 1] = coroutine.create(function() end) end",
        "local t = {} while true do t[#t + 1] = function() return t end end",
        "local t = {} while true do t[#t + 1] = buffer.create(1000) end",
        "coroutine.wrap(function() pcall(table.create, 6e7) end)() return 1",
        "local function f(...) return f(1, ...) end f()",
        "local t = {} for i = 1, math.huge do t[i] = i end",
        "local t = {} while true do t[#t + 1] = rea.json.decode('[[[[{}]]]]') end",
    ] {
        let limits = Limits { wall: Duration::from_secs(5), ..tight() };
        let from = Instant::now();
        let code = ended(source, &limits);
        // The stack has a limit of its own.
        let is_stack = source.contains("f(1, ...)");
        assert!(code == ErrorCode::Memory || is_stack, "{source}: {code:?}");
        assert!(from.elapsed() < Duration::from_secs(4), "{source}");
    }
}

#[test]
fn garbage_does_not_count_for_long() {
    let source = "local n = 0 for i = 1, 20000 do local s = string.rep('x', 10000) .. i n += #s end return n > 0";
    assert_eq!(report_with(source, "{}", &tight().with_wall(20)).outcome, Outcome::Returned("true".into()));
}

impl Limits {
    fn with_wall(self, seconds: u64) -> Limits {
        Limits { wall: Duration::from_secs(seconds), ..self }
    }
}

#[test]
fn deep_recursion_of_every_kind_is_an_error_and_not_a_crash() {
    for source in [
        "local function f() return 1 + f() end f()",
        "local function f() pcall(f) end f() return error('done')",
        "local t = setmetatable({}, {}) getmetatable(t).__index = function(_, k) return t[k] end return t.x",
        "local t = setmetatable({}, {}) getmetatable(t).__tostring = function() return tostring(t) end return tostring(t)",
        "local function f() coroutine.wrap(f)() end f()",
        "local function f(s) return (string.gsub(s, '.', f)) end return f('ab')",
        "local function f() table.sort({2, 1}, f) end f()",
        "local function f() error(setmetatable({}, {__tostring = f})) end f()",
        "local function f() xpcall(error, f) end f() return error('done')",
        "local m = {} m.__lt = function(a, b) return a < b end return setmetatable({}, m) < setmetatable({}, m)",
        "local m = {} m.__concat = function(a, b) return a .. b end return setmetatable({}, m) .. setmetatable({}, m)",
    ] {
        let limits = Limits { memory: 64 << 20, ..tight() };
        ended(source, &limits);
    }
}

#[test]
fn cpu_time_has_a_limit_of_its_own() {
    let limits = Limits { cpu: Some(Duration::from_millis(50)), ..limits() };
    assert_eq!(ended("while true do pcall(function() while true do end end) end", &limits), ErrorCode::Cpu);
}

#[test]
fn a_request_to_cancel_ends_the_script() {
    let limits = Limits { cancelled: || true, ..limits() };
    assert_eq!(ended("while true do pcall(error) end", &limits), ErrorCode::Cancelled);
}

#[test]
fn the_message_tells_limit_and_line() {
    let Outcome::Error { message, .. } = report_with("local x = 1\nwhile true do end", "{}", &tight()).outcome else {
        panic!("it ended well");
    };
    assert_eq!(message, "trial:2: the script took longer than 200 ms");
}

#[test]
fn a_context_larger_than_the_memory_is_refused() {
    let context = format!("[{}1]", "1,".repeat(3_000_000));
    let outcome = report_with("return 1", &context, &tight()).outcome;
    assert!(matches!(outcome, Outcome::Error { code: ErrorCode::Memory, .. }), "{outcome:?}");
    let tiny = Limits { memory: 10_000, ..tight() };
    assert!(matches!(report_with("", "{}", &tiny).outcome, Outcome::Error { code: ErrorCode::Memory, .. }));
}

#[test]
fn a_fresh_world_is_cheap_and_small() {
    let from = Instant::now();
    for _ in 0..100 {
        let report = run(&script("return ctx"), &mut World::default(), &limits());
        assert!(report.peak_memory < 500_000, "{}", report.peak_memory);
    }
    assert!(from.elapsed() < Duration::from_secs(2), "{:?}", from.elapsed());
}

#[test]
fn it_runs_on_the_small_stack_of_a_pool_thread() {
    let body =
        || report_with("local function f() pcall(f) end f() return string.rep('x', 10)", "{}", &limits()).outcome;
    let thread = std::thread::Builder::new().stack_size(128 * 1024).spawn(body).unwrap();
    assert_eq!(thread.join().unwrap(), Outcome::Returned("\"xxxxxxxxxx\"".into()));
}
