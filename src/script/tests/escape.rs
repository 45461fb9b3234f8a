//! Nothing but the listed functions is there, and nothing stays for the next script.

use super::{Outcome, report, returned};

#[test]
fn exactly_the_listed_globals_are_there() {
    let source = "local names = {}
        for _, from in {getmetatable(getfenv and getfenv() or {}) or {}} do end
        for _, name in ctx do table.insert(names, name) end return names";
    assert_eq!(returned(source), "{}");
    for absent in [
        "require",
        "load",
        "loadstring",
        "loadfile",
        "dofile",
        "io",
        "package",
        "ffi",
        "jit",
        "getfenv",
        "setfenv",
        "newproxy",
        "collectgarbage",
        "gcinfo",
        "_G",
        "integer",
        "vector",
        "class",
    ] {
        assert_eq!(returned(&format!("return {absent} == nil")), "true", "{absent}");
    }
    let list = |table: &str| {
        let source = format!(
            "local names = {{}} for name in {table} do table.insert(names, name) end table.sort(names) return names"
        );
        returned(&source)
    };
    assert_eq!(list("os"), r#"["clock","date","difftime","time"]"#);
    assert_eq!(list("debug"), r#"["traceback"]"#);
    assert_eq!(list("rea"), r#"["array","config","fail","http","json","kv","log","null","number","retry"]"#);
}

#[test]
fn libraries_and_metatables_cannot_be_changed() {
    for source in [
        "string.find = nil",
        "table.insert = print",
        "rea.http = nil",
        "rea.kv.get = nil",
        "math.pi = 3",
        "getmetatable('').__index = {}",
        "rawset(string, 'find', 1)",
        "setmetatable(string, {})",
        "setmetatable(rea, {})",
        "setmetatable(ctx, {})",
        "getmetatable('').x = 1",
        "os.time = nil",
        "table.clear(string)",
    ] {
        let report = super::report_with(source, "[]", &super::limits());
        assert!(matches!(report.outcome, Outcome::Error { .. }), "{source}: {:?}", report.outcome);
    }
}

#[test]
fn the_next_script_sees_a_clean_world() {
    report("leak = 1 string = nil rea = nil print = nil ctx = nil");
    assert_eq!(
        returned("return {leak == nil, string ~= nil, rea ~= nil, type(print), type(ctx)}"),
        r#"[true,true,true,"function","table"]"#
    );
}

#[test]
fn a_script_may_hide_what_it_finds_and_only_from_itself() {
    assert_eq!(
        returned("local find = string.find string = {find = function() return 7 end} return string.find('a', 'b')"),
        "7"
    );
}

#[test]
fn the_stricter_functions_do_what_luau_does() {
    assert_eq!(returned("return {string.find('hello', 'l')}"), "[3,3]");
    assert_eq!(returned("return {string.find('hello', 'l', -2)}"), "[4,4]");
    assert_eq!(returned("return {string.find('a.b', '.', 1, true)}"), "[2,2]");
    assert_eq!(returned("return {string.find('hello', '')}"), "[1,0]");
    assert_eq!(returned("return {string.find('abc', '', 4)}"), "[4,3]");
    assert_eq!(
        returned("return {string.find('abc', '', 5) == nil, string.find('abc', 'x') == nil, ('abc'):find('b')}"),
        "[true,true,2,2]"
    );
    assert_eq!(returned("return {string.find('abc', '(b)(.)')}"), r#"[2,3,"b","c"]"#);
    assert_eq!(returned("return {('k=v'):match('(%w+)=(%w+)')}"), r#"["k","v"]"#);
    assert_eq!(returned("return (('a-b-c'):gsub('-', '+'))"), "\"a+b+c\"");
    assert_eq!(
        returned("local t = {} for w in ('a b c'):gmatch('%a') do table.insert(t, w) end return t"),
        r#"["a","b","c"]"#
    );
    assert_eq!(returned("return ('a,b,,c'):split(',')"), r#"["a","b","","c"]"#);
    assert_eq!(returned("return ('a,b'):split()"), r#"["a","b"]"#);
    assert_eq!(returned("return table.move({1, 2, 3}, 1, 3, 2)"), "[1,1,2,3]");
    assert_eq!(returned("local t = {3, 1, 2} table.sort(t) return t"), "[1,2,3]");
    assert_eq!(returned("local t = {'b', 'a'} table.sort(t) return t"), r#"["a","b"]"#);
    assert_eq!(returned("local t = {1, 3, 2} table.sort(t, function(a, b) return a > b end) return t"), "[3,2,1]");
    assert_eq!(returned("local t = {} table.sort(t) return #t"), "0");
}
