-- Scripts: versions, what does not compile, configuration, and test_script with its limits and its privileges.
\pset null ∅
-- Versions: numbered from 1, the source in force again is the same one.
select rea.define_script('price', 'return args.amount * 2');
select rea.define_script('price', 'return args.amount * 2');
select rea.define_script('price', 'return args.amount * 3');
select rea.define_script('price', 'return args.amount * 2', expected_version => 2);
call regress.refused($$select rea.define_script('price', 'return 1', expected_version => 2)$$);
call regress.refused($$select rea.define_script('new', 'return 1', expected_version => 1)$$);
select rea.define_script('new', 'return 1', expected_version => 0);
select script_name, version, active, source, defined_by = current_user as by_me from rea.scripts where script_name in ('new', 'price') order by 1, 2;

-- What is no script
call regress.refused($$select rea.define_script('broken', e'local x = 1\nlocal y = = 2')$$);
call regress.refused($$select rea.define_script('broken', 'goto done')$$);
call regress.refused($$select rea.define_script('broken', repeat('-', 300000))$$);
call regress.refused($$select rea.define_script('', 'return 1')$$);
call regress.refused($$select rea.define_script('price@3', 'return 1')$$);
call regress.refused($$select rea.define_script(null, 'return 1')$$);
call regress.refused($$select rea.define_script('price', null)$$);

-- Dropped: out of force, its versions stay; defined again, it goes on.
select rea.drop_script('new');
call regress.refused($$select rea.drop_script('new')$$);
call regress.refused($$select rea.drop_script('never')$$);
select version, active from rea.scripts where script_name = 'new';
select rea.define_script('new', 'return 1');

-- A workflow is refused when its script is missing or does not compile, and keeps the script it names from being dropped.
create function regress.lua(config jsonb) returns jsonb language sql as $$
    select jsonb_build_object('workflowName', 'scriptFlow', 'actions',
        jsonb_build_array(jsonb_build_object('name', 'run', 'type', 'lua', 'config', config)))
$$;
select v.path, v.code, v.message, v.hint from rea.validate_workflow(regress.lua('{"script": "nowhere"}')) v;
select v.path, v.code, v.message from rea.validate_workflow(regress.lua('{"script": "price@9"}')) v;
select v.path, v.code, v.message from rea.validate_workflow(regress.lua('{"source": "return ("}')) v;
select rea.define_workflow(regress.lua('{"script": "price"}'));
call regress.refused($$select rea.drop_script('price')$$);
select rea.define_workflow(regress.lua('{"script": "price@3"}'));
select rea.drop_script('price');
select rea.define_script('price', 'return 4');
select rea.disable_workflow('scriptFlow');

-- Configuration
select rea.set_config('limits', '{"max": 100}');
select rea.set_config('limits', '{"max": 0.10}');
select rea.set_config('gone', '1');
select rea.set_config('gone', null);
select key, value, updated_by = current_user as by_me from rea.configuration where key = 'limits';
call regress.refused($$select rea.set_config('', '1')$$);
call regress.refused($$select rea.set_config(null, '1')$$);
call regress.refused($$select rea.set_config('large', to_jsonb(repeat('x', 300000)))$$);

-- Trying: every end, and what was done on the way
create function regress.try(source text, ctx jsonb default '{}', mocks jsonb default '{}', runs integer default 1)
returns table (outcome text, result jsonb, code text, error text, runs_done integer) language sql as $$
    select t.outcome, t.result, t.error_code, t.error, t.runs_done
    from rea.test_script(source, ctx, '{"n": 2}', runs, mocks, timeout_ms => 300, memory_mb => 8) t
$$;
select * from regress.try('return {ctx.list, args.n, rea.config("limits").max, rea.null}', '{"list": []}');
select * from regress.try('return ctx', '{"empty": {}, "none": null, "big": 12345678901234567890.10, "text": "é\"\\"}');
select * from regress.try('return 1', runs => 50);
select * from regress.try('rea.retry("busy", 5)');
select * from regress.try('pcall(rea.fail, "no stock", "no_stock")');
select * from regress.try(e'\nlocal x = nil\nreturn x.y');
select * from regress.try('error({code = 7})', runs => 3);
select * from regress.try('return {deep = {f = print}}');
select * from regress.try('return 0/0');
select * from regress.try('while true do pcall(function() while true do end end) end');
select * from regress.try('string.find(string.rep("a", 30000), string.rep("a?", 30000) .. string.rep("a", 30000))');
select * from regress.try('local t = {} while true do pcall(function() t[#t + 1] = string.rep("x", 1000) .. #t end) end');
select * from regress.try('return require or load or loadstring or io or package or getfenv or os.execute');
call regress.refused($$select * from rea.test_script('return (')$$);

-- Requests are answered from mocks; nothing is sent. The state begins empty and is not kept.
select * from regress.try('local r = rea.http{url = "http://stock/1", body = {qty = 1}} return {r.status, r.body, r.headers["x-a"]}',
    mocks => '{"http://stock/1": {"status": 201, "body": {"id": 7}, "headers": {"X-A": "b"}}}');
select * from regress.try('local r, why, kind = rea.http{url = "http://stock/2"} return {r == nil, why, kind}');
select * from regress.try('local n = (rea.kv.get("n") or 0) + 1 rea.kv.set("n", n) return {n, rea.kv.get("n")}', runs => 2);
select t.kv, jsonb_path_query_array(t.log, '$[*].text') as texts, jsonb_path_query_array(t.log, '$[*].level') as levels,
       jsonb_path_query_array(t.calls, '$[*].kind') as kinds, jsonb_path_query_array(t.calls, '$[*].target') as targets
from rea.test_script('rea.log("debug", {a = 1}) print("x", 1) rea.kv.set("k", {1}, 60) rea.kv.set("gone", nil)
                      rea.http{url = "http://u:p@h/path?key=secret"}') t;
select t.mean_ms > 0 and t.max_ms >= t.mean_ms as timed, t.mean_cpu_ms > 0 as cpu, t.peak_memory_kb between 100 and 2000 as memory
from rea.test_script('return 1', runs => 10) t;
select count(*) from rea.kv where key in ('n', 'k', 'gone') and workflow_name not like 'lua.%';
call regress.refused($$select * from rea.test_script('return 1', mocks => '[]')$$);
call regress.refused($$select * from rea.test_script('return 1', mocks => '{"http://a": {"state": 200}}')$$);
call regress.refused($$select * from rea.test_script('return 1', runs => 0)$$);
call regress.refused($$select * from rea.test_script('return 1', timeout_ms => 0)$$);
call regress.refused($$select * from rea.test_script('return 1', memory_mb => 4096)$$);
call regress.refused($$select * from rea.test_script(null)$$);

-- A trial ends with the session's own limits.
set statement_timeout = '200ms';
select * from rea.test_script('while true do pcall(error) end');
reset statement_timeout;

-- Viewers read, administrators define; applications do neither.
create role regress_script_viewer;
create role regress_script_admin;
create role regress_script_app;
select rea.grant_viewer('regress_script_viewer'), rea.grant_admin('regress_script_admin'), rea.grant_app('regress_script_app');
set role regress_script_viewer;
select count(*) > 0 as sees from rea.scripts;
select count(*) > 0 as sees from rea.configuration;
select rea.define_script('mine', 'return 1');
select * from rea.test_script('return 1');
set role regress_script_app;
select count(*) from rea.scripts;
select rea.set_config('mine', '1');
set role regress_script_admin;
select rea.define_script('mine', 'return 1');
select outcome from rea.test_script('return 1');
select source from rea.script;
reset role;
select defined_by from rea.scripts where script_name = 'mine';
select rea.drop_script('mine'), rea.drop_script('new'), rea.drop_script('price'), rea.set_config('limits', null);
drop owned by regress_script_viewer, regress_script_admin, regress_script_app;
drop role regress_script_viewer, regress_script_admin, regress_script_app;
