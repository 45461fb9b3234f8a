-- A hostile search path: objects that stand before PostgreSQL's own are never called by rea, neither in the owner's name nor in a caller's.
create role regress_attacker;
select rea.grant_app('regress_attacker');
create schema regress_trap authorization regress_attacker;
grant temporary on database :"DBNAME" to regress_attacker;
grant usage on schema regress to regress_attacker;
set session authorization regress_attacker;
-- Each trap tells whom it caught and then fails, so that nothing can spring it unnoticed.
create function regress_trap.spring(trap text) returns void language plpgsql as $$
begin
    raise exception 'trap % sprung by %', trap, current_user;
end
$$;
do $$
declare
    f record;
begin
    -- Functions of one argument and operators that rea's statements use, under their own names, for the types they are used with
    for f in select * from (values ('jsonb_typeof', 'jsonb', 'text'), ('to_jsonb', 'anyelement', 'jsonb'), ('jsonb_array_length', 'jsonb', 'integer'), ('length', 'text', 'integer'),
                                   ('lower', 'text', 'text'), ('now', '', 'timestamptz'), ('statement_timestamp', '', 'timestamptz'), ('clock_timestamp', '', 'timestamptz'),
                                   ('nextval', 'regclass', 'bigint'), ('current_setting', 'text, boolean', 'text'), ('pg_has_role', 'oid, oid, text', 'boolean'), ('to_regrole', 'text', 'regrole'),
                                   ('quote_ident', 'text', 'text'), ('starts_with', 'text, text', 'boolean'), ('jsonb_build_object', '', 'jsonb'), ('unnest', 'anyarray', 'text'),
                                   ('jsonb_array_elements', 'jsonb', 'jsonb'), ('jsonb_object_keys', 'jsonb', 'text'), ('array_to_string', 'anyarray, text', 'text'),
                                   ('has_table_privilege', 'oid, text, text', 'boolean'), ('jsonb_path_query_array_tz', 'jsonb, jsonpath, jsonb, boolean', 'jsonb')) v (name, arguments, result) loop
        execute format('create function regress_trap.%I(%s) returns %s language plpgsql as $f$ begin perform regress_trap.spring(%L); return null; end $f$', f.name, f.arguments, f.result, f.name);
    end loop;
    for f in select * from (values ('=', 'text', 'text', 'boolean'), ('=', 'uuid', 'uuid', 'boolean'), ('=', 'jsonb', 'jsonb', 'boolean'), ('=', 'name', 'name', 'boolean'), ('=', 'integer', 'integer', 'boolean'),
                                   ('<>', 'text', 'text', 'boolean'), ('<>', 'jsonb', 'jsonb', 'boolean'), ('>', 'text', 'text', 'boolean'), ('<', 'text', 'text', 'boolean'), ('>', 'bigint', 'bigint', 'boolean'),
                                   ('<=', 'timestamptz', 'timestamptz', 'boolean'), ('>', 'timestamptz', 'timestamptz', 'boolean'), ('||', 'text', 'text', 'text'), ('||', 'jsonb', 'jsonb', 'jsonb'),
                                   ('->>', 'jsonb', 'text', 'text'), ('->', 'jsonb', 'text', 'jsonb'), ('->', 'jsonb', 'integer', 'jsonb'), ('@>', 'jsonb', 'jsonb', 'boolean'), ('?', 'jsonb', 'text', 'boolean'),
                                   ('~', 'text', 'text', 'boolean'), ('+', 'integer', 'integer', 'integer'), ('~~', 'text', 'text', 'boolean')) v (name, lefts, rights, result) loop
        execute format('create function regress_trap.%I(%s, %s) returns %s language plpgsql as $f$ begin perform regress_trap.spring(%L); return null; end $f$',
                       f.name || ' ' || f.lefts, f.lefts, f.rights, f.result, f.name || ' ' || f.lefts);
        execute format('create operator regress_trap.%s (leftarg = %s, rightarg = %s, function = regress_trap.%I)', f.name, f.lefts, f.rights, f.name || ' ' || f.lefts);
    end loop;
end
$$;
-- Types and tables of a session's own come first for everybody who does not say otherwise.
create temporary table work_event (x integer);
create temporary table work_inbox (x integer);
create domain pg_temp.uuid as text check (regress_trap.spring('uuid') is null);
create domain pg_temp.jsonpath as text check (regress_trap.spring('jsonpath') is null);
create domain pg_temp.name as text check (regress_trap.spring('name') is null);
set search_path = regress_trap, pg_temp, pg_catalog;
-- The traps work:
select 'a'::text = 'b'::text;
select now();
-- and rea does not step into them.
select rea.fire_event('hostile.made', 'H-1', '{"a": 1}', event_id => 'H-1', source => 'trap', attributes => '{"a": "b"}');
select rea.fire_event('hostile.made', 'H-1', '{"a": 1}', event_id => 'H-1', source => 'trap', attributes => '{"a": "b"}');
select rea.fire_event('hostile.made', 'H-1', '{"a": 2}', event_id => 'H-1', source => 'trap');
select rea.fire_events('[{"event_type": "hostile.made", "biz_key": "H-2", "event_id": "H-2"}, {"event_type": "hostile.made", "biz_key": "H-3", "event_id": "H-3", "occurred_at": "2026-01-01"}]');
select rea.wait_operation('H-1', 'trap', 20000) is not null as waited;
select rea.operation('H-2') is not null as seen;
select pg_catalog.count(*) from rea.query_instance('H-1');
select rea.retry_instance('00000000-0000-7000-8000-000000000000'::pg_catalog.uuid);
create table regress_trap.orders (id integer);
create trigger fire after insert on regress_trap.orders for each row execute function rea.fire_on_change('hostile.row', 'id');
insert into regress_trap.orders values (7);
reset search_path;
reset session authorization;
-- An administrator who walks into the path is safe as well.
set search_path = regress_trap, pg_catalog;
select rea.define_workflow('{"workflowName": "hostileFlow", "triggerEvent": "hostile.*", "match": "$.payload.a == 1", "actions": [{"name": "a", "type": "http", "when": "1 == 2", "config": {"url": "http://stock.internal/${payload.x}", "timeoutMs": 1}}]}');
select rea.define_workflow('{"workflowName": "hostileFlow", "triggerEvent": "hostile.*", "match": "$.payload.a == 1", "actions": [{"name": "a", "type": "http", "when": "1 == 2", "config": {"url": "http://stock.internal/${payload.x}", "timeoutMs": 1}}]}');
select pg_catalog.count(*) from rea.validate_workflow('{"workflowName": "x", "actions": [{"name": "a", "type": "http", "when": "$.payload >", "config": {"url": "http://stock.internal/", "timeoutMs": 1}}]}');
select rea.define_route('hostileRoute', 'hostile.made', 'hostileFlow', match => '{"a": 1}');
select m.route_name, m.chosen from rea.match_event('hostile.made', 'K', '{"a": 1}') m;
select rea.drop_route('hostileRoute');
select rea.disable_workflow('hostileFlow'), rea.enable_workflow('hostileFlow');
select pg_catalog.count(*) as checks from rea.doctor();
select t.kind from rea.timeline('H-2') t;
select pg_catalog.count(*) from rea.events e where e.biz_key operator(pg_catalog.=) 'H-2';
select pg_catalog.count(*) operator(pg_catalog.>=) 0 as lanes from rea.lanes;
select pg_catalog.count(*) operator(pg_catalog.>) 0 as backlog from rea.backlog;
select pg_catalog.count(*) operator(pg_catalog.>=) 0 as workers from rea.workers;
select pg_catalog.count(*) operator(pg_catalog.>=) 0 as instances from rea.instances i where i.steps is not null;
select rea.grant_app('regress_attacker'), rea.grant_viewer('regress_attacker'), rea.grant_admin('regress_attacker');
reset search_path;
-- The default path of database, role and server is nothing to the worker either.
alter database :"DBNAME" set search_path = regress_trap, public;
alter role :"USER" set search_path = regress_trap, public;
select pg_terminate_backend(w.pid) from rea.live_worker w \g /dev/null
select rea.fire_event('hostile.late', 'H-4', '{"a": 1, "x": 1}', event_id => 'H-4');
call regress.wait_until_still('H-4');
select status, steps from regress.outcome('H-4');
alter database :"DBNAME" reset search_path;
alter role :"USER" reset search_path;
select biz_key, fired_by from rea.work_event where event_type like 'hostile%' order by 1;
set client_min_messages = warning;
drop schema regress_trap cascade;
drop owned by regress_attacker;
drop role regress_attacker;
