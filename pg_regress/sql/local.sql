-- local: a function of the database is called as the role that defined the workflow, in the transaction that records it.
create schema regress_local;
create table regress_local.seen (what text);
create function regress_local.types(a integer, b text, c jsonb, d numeric, e date, f integer[], g boolean default true)
returns text language sql as $$ select format('%s|%s|%s|%s|%s|%s|%s', a, b, c, d, e, f, g) $$;
create function regress_local.context(context jsonb) returns jsonb language sql as $$
    select jsonb_build_object('keys', (select jsonb_agg(k order by k) from jsonb_object_keys(context) k), 'n', context -> 'payload' -> 'n')
$$;
create function regress_local.note(what text) returns void language sql as $$ insert into regress_local.seen values (what) $$;
create function regress_local.pair(out a integer, out b text) language sql as $$ select 1, 'x' $$;
create function regress_local.all_of(first text, variadic rest integer[]) returns text language sql as $$ select first || rest::text $$;
create function regress_local.refuses(state text, told text, advice text) returns integer language plpgsql as $$
begin
    perform regress_local.note('never kept');
    raise exception '%', told using errcode = state, hint = advice;
end $$;
create function regress_local.define(name text, function text, args jsonb, policy jsonb default '{}') returns integer language sql as $$
    select rea.define_workflow(jsonb_build_object(
        'workflowName', name, 'triggerEvent', name, 'actions', jsonb_build_array(jsonb_build_object(
            'name', 'a', 'type', 'local', 'retryPolicy', policy, 'output', '{"body": "${response.body}"}'::jsonb,
            'config', jsonb_strip_nulls(jsonb_build_object('function', function, 'args', args, 'timeoutMs', 5000))))))
$$;
create function regress_local.result(key text) returns table (biz_key text, status text, code text, error text, body jsonb)
language sql as $$
    select i.biz_key, i.status, i.error_code, i.error, i.context #> '{a,output,body}' from rea.work_instance i where i.biz_key = key
$$;
-- Arguments become the types of the parameters; parameters with defaults may be left out.
select regress_local.define('local.types', 'regress_local.types', '["${payload.a}", "${payload.b}", "${payload.c}", "${payload.d}", "${payload.e}", "${payload.f}"]');
call regress.run('local.types', 'local-1', '{"a": 1, "b": "x\"y", "c": {"x": [1.10]}, "d": 1.50, "e": "2026-01-31", "f": [1, 2]}');
call regress.run('local.types', 'local-2', '{"a": "7", "b": 5, "c": null, "d": "1e3", "e": null, "f": []}');
call regress.run('local.types', 'local-3', '{"a": "seven", "b": 5, "c": null, "d": 1, "e": null, "f": null}');
select o.* from unnest(array['local-1', 'local-2', 'local-3']) k, lateral regress_local.result(k) o;
-- Without args the whole context is the only argument.
select regress_local.define('local.context', 'regress_local.context', null);
call regress.run('local.context', 'local-4', '{"n": 1.10}');
select * from regress_local.result('local-4');
-- Nothing and rows.
select regress_local.define('local.note', 'regress_local.note', '["${event.bizKey}"]');
select regress_local.define('local.pair', 'regress_local.pair', '[]');
select regress_local.define('local.all', 'regress_local.all_of', '["n", 1, "2", 3]');
select regress_local.define('local.array', 'regress_local.all_of', '["n", [1, 2]]');
call regress.run('local.note', 'local-5');
call regress.run('local.pair', 'local-6');
call regress.run('local.all', 'local-7');
call regress.run('local.array', 'local-8');
select o.* from unnest(array['local-5', 'local-6', 'local-7', 'local-8']) k, lateral regress_local.result(k) o;
select what from regress_local.seen;
-- The code of a failure is the SQLSTATE; nothing of a failed attempt stays.
select regress_local.define('local.refuses', 'regress_local.refuses', '["${payload.state}", "told", "retry after 20 ms"]', '{"maxRetries": 1, "backoffMs": 1}');
call regress.run('local.refuses', 'local-9', '{"state": "23505"}');
call regress.run('local.refuses', 'local-10', '{"state": "RE001"}');
call regress.run('local.refuses', 'local-11', '{"state": "40001"}');
call regress.run('local.refuses', 'local-12', '{"state": "XY123"}');
select o.* from unnest(array['local-9', 'local-10', 'local-11', 'local-12']) k, lateral (select k, status, retries, code, error from regress.outcome(k)) o;
select what from regress_local.seen;
select l.attempt_no, l.status, l.error_code, l.request_summary, l.next_retry_time > l.end_time as will_retry
from rea.work_action_log l join rea.work_instance i using (instance_id) where i.biz_key = 'local-10' order by l.log_id;
-- neverRetryOn and retryOn know SQLSTATEs.
select regress_local.define('local.never', 'regress_local.refuses', '["40001", "told", ""]', '{"maxRetries": 3, "backoffMs": 1, "neverRetryOn": ["40001"]}');
select regress_local.define('local.again', 'regress_local.refuses', '["P0001", "told", ""]', '{"maxRetries": 1, "backoffMs": 1, "retryOn": ["P0001"]}');
call regress.run('local.never', 'local-13');
call regress.run('local.again', 'local-14');
select o.* from unnest(array['local-13', 'local-14']) k, lateral (select k, status, retries, code from regress.outcome(k)) o;
-- What is gone when it is called.
drop function regress_local.pair();
call regress.run('local.pair', 'local-15');
create function regress_local.context(context json) returns setof integer language sql as 'select 1';
drop function regress_local.context(jsonb);
call regress.run('local.context', 'local-16');
select o.* from unnest(array['local-15', 'local-16']) k, lateral (select k, status, code, error from regress.outcome(k)) o;
-- A deferred constraint is checked before the call counts as successful.
create table regress_local.parent (id integer primary key);
create table regress_local.child (id integer references regress_local.parent deferrable initially deferred);
create function regress_local.adopt(parent integer) returns void language sql as $$
    insert into regress_local.child values (parent); insert into regress_local.parent values (1) on conflict do nothing
$$;
select regress_local.define('local.adopt', 'regress_local.adopt', '["${payload.parent}"]');
call regress.run('local.adopt', 'local-18', '{"parent": 1}');
call regress.run('local.adopt', 'local-19', '{"parent": 2}');
select o.* from unnest(array['local-18', 'local-19']) k, lateral (select k, status, code, error from regress.outcome(k)) o;
select id from regress_local.child;
-- The lane of a local action with a lane of its own.
select rea.define_workflow('{"workflowName": "localLane", "triggerEvent": "local.lane", "actions": [
    {"name": "a", "type": "local", "lane": "bulk", "config": {"function": "regress_local.note", "args": ["lane"]}}]}');
call regress.run('local.lane', 'local-17');
select status, code from regress.outcome('local-17');
call regress.wait_for('exists (select from rea.lanes l where l.lane = ''sql:bulk'')');
set client_min_messages = warning;
drop schema regress_local cascade;
