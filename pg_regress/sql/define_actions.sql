-- What a definition names must exist: SQL functions that the caller may call, other workflows, the extension pgmq.
\pset format unaligned
\pset null ∅
create schema shop;
create function shop.send_message(jsonb) returns jsonb language sql as 'select $1';
create function shop.deduct(sku text, qty integer default 1) returns integer language sql as 'select 1';
create function shop.overloaded(a integer, b integer default 0) returns integer language sql as 'select 1';
create function shop.overloaded(a text, b text default '') returns integer language sql as 'select 1';
create function shop.many(variadic integer[]) returns integer language sql as 'select 1';
create function shop."Odd Name"(jsonb) returns void language sql as '';
create function shop.rows(jsonb) returns setof integer language sql as 'select 1';
create procedure shop.proceed(jsonb) language sql as '';

-- A workflow with one action: what is wrong with it
create function regress.wrong_action(kind text, config jsonb)
returns table (severity text, path text, code text, message text, hint text) language sql as $$
    select v.* from rea.validate_workflow(jsonb_build_object('workflowName', 'actionFlow',
        'actions', jsonb_build_array(jsonb_build_object('name', 'a', 'type', kind, 'config', config)))) v
$$;

-- Functions, called with the whole context as one jsonb
select f, v.severity, v.path, v.code, v.message, v.hint
from unnest(array['shop.send_message', 'SHOP.Send_Message', 'shop."Odd Name"', 'shop."Send_Message"', 'shop.send_mesage', 'shpo.send_message',
    'shop.deduct', 'shop.rows', 'shop.proceed', 'pg_catalog.count', 'send_message', 'shop.send_message(jsonb)']) with ordinality u (f, n)
left join lateral regress.wrong_action('local', jsonb_build_object('function', f)) v on true
order by n;
-- Functions, called with a list of arguments
select f, args, v.severity, v.path, v.code, v.message, v.hint
from (values (1, 'shop.deduct', '[]'::jsonb), (2, 'shop.deduct', '["${payload.sku}"]'), (3, 'shop.deduct', '["a", 2]'), (4, 'shop.deduct', '["a", 2, 3]'),
    (5, 'shop.overloaded', '[1]'), (6, 'shop.overloaded', '[1, 2]'), (7, 'shop.many', '[[1, 2, 3, 4]]'), (8, 'shop.send_message', '[{"a": ["x ${payload.b}, y"]}]')) u (n, f, args)
left join lateral regress.wrong_action('local', jsonb_build_object('function', f, 'args', args)) v on true
order by n;
-- The caller needs the rights, because the function is called as the role that defined the workflow.
create role regress_definer;
select rea.grant_admin('regress_definer');
grant usage on schema regress to regress_definer;
set role regress_definer;
select v.* from regress.wrong_action('local', '{"function": "shop.send_message"}') v;
reset role;
grant usage on schema shop to regress_definer;
set role regress_definer;
select v.* from regress.wrong_action('local', '{"function": "shop.send_message"}') v;
reset role;
revoke execute on function shop.send_message from public;
set role regress_definer;
select v.* from regress.wrong_action('local', '{"function": "shop.send_message"}') v;
reset role;

-- Other workflows: the one that is being defined counts as there, because depth is bounded when it runs.
select v.* from regress.wrong_action('workflow', '{"workflowName": "actionFlow"}') v;
select v.* from regress.wrong_action('workflow', '{"workflowName": "quiteAnother"}') v;
select rea.define_workflow('{"workflowName": "innerActionFlow", "actions": [{"name": "a", "type": "emit", "config": {"eventType": "action.done"}}]}');
select v.* from regress.wrong_action('workflow', '{"workflowName": "innerActionFlow"}') v;
select v.* from regress.wrong_action('workflow', '{"workflowName": "inerActionFlow"}') v;
-- Queues need pgmq.
select v.* from regress.wrong_action('message', '{"transport": "pgmq", "topic": "jobs"}') v;

-- A definition that cannot run is refused, wherever the name stands.
select rea.define_workflow('{"workflowName": "actionFlow", "actions": [
    {"name": "p", "type": "parallel", "branches": {"x": [{"name": "a", "type": "emit", "config": {"eventType": "x"},
        "compensate": {"type": "local", "config": {"function": "shop.restore"}}}]}},
    {"name": "b", "type": "workflow", "config": {"workflowName": "nowhere"}}]}');

-- Silence about undoing is advice of validate_workflow; define_workflow does not repeat it.
create function regress.silent() returns jsonb language sql as $$ select '{"workflowName": "silentFlow", "actions": [
    {"name": "a", "type": "http", "config": {"url": "http://stock.internal/", "timeoutMs": 1000}},
    {"name": "b", "type": "http", "config": {"url": "http://stock.internal/", "timeoutMs": 1000}}]}'::jsonb $$;
select v.* from rea.validate_workflow(regress.silent()) v;
select rea.define_workflow(regress.silent());

drop owned by regress_definer;
drop role regress_definer;
set client_min_messages = warning;
drop schema shop cascade;
