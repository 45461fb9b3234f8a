-- Privileges: nobody may do anything by default; grant_app, grant_viewer and grant_admin hand out exactly what the manual says.
-- Nothing at all is granted to everybody.
select n.nspname as schema_open_to_all from pg_namespace n, aclexplode(n.nspacl) a where n.nspname = 'rea' and a.grantee = 0;
select c.oid::regclass as relation_open_to_all from pg_class c, aclexplode(c.relacl) a where c.relnamespace = 'rea'::regnamespace and a.grantee = 0;
select p.oid::regprocedure as function_open_to_all from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
where p.pronamespace = 'rea'::regnamespace and a.grantee = 0;
select t.oid::regtype as type_of_its_own from pg_type t where t.typnamespace = 'rea'::regnamespace and t.typtype not in ('c', 'b');

create role regress_mallory;
create role regress_shop;
create role regress_watcher;
create role regress_boss;
create role regress_nobody;
select rea.grant_app('regress_mallory'), rea.grant_app('regress_shop'), rea.grant_viewer('regress_watcher'), rea.grant_admin('regress_boss');
call regress.refused($$ select rea.grant_app('regress_missing') $$);
call regress.refused($$ select rea.grant_app('Regress_Shop') $$);
call regress.refused($$ select rea.grant_viewer(null) $$);
call regress.refused($$ select rea.grant_admin('public') $$);
grant usage on schema regress to regress_mallory, regress_shop, regress_boss, regress_watcher, regress_nobody;
grant select on regress.receiver to regress_boss;
-- Granted twice is granted once.
select rea.grant_app('regress_shop');

-- An administrator without any other right defines; what he defines bears his name.
set session authorization regress_boss;
select regress.define('{"workflowName": "guardedFlow", "triggerEvent": "guarded.made", "retryPolicy": {"maxRetries": 0}, "actions": [
    {"name": "call", "type": "http", "config": {"url": "http://receiver/first/1/503/echo", "timeoutMs": 5000}}]}') as version;
select rea.define_route('guardedRoute', 'guarded.other', 'guardedFlow') as version;
select rea.drop_route('guardedRoute');
select w.workflow_name from rea.workflows w where w.workflow_name = 'guardedFlow';
select r.route_name from rea.routes r where r.workflow_name = 'guardedFlow';
select * from rea.workflow;
select * from rea.work_event;
reset session authorization;
select workflow_name, defined_by from rea.workflow_version where workflow_name = 'guardedFlow';

-- The shop fires; the event bears its name.
set session authorization regress_shop;
select rea.fire_event('guarded.made', 'G-1', '{"card": "secret"}', 'G-1', 'shop');
select rea.wait_operation('G-1', 'shop', 20000) ->> 'status' as status;
reset session authorization;
select event_id, fired_by from rea.work_event where event_id = 'G-1';
select i.instance_id as theirs, i.event_uid as their_event from rea.instances i where i.biz_key = 'G-1' \gset
create function regress.mallory_tries(tries text[]) returns table (answer text, attempt text) language plpgsql as $$
begin
    foreach attempt in array tries loop
        begin
            execute attempt into answer;
            answer := 'ALLOWED ' || coalesce(answer, 'null');
        exception when others then
            answer := sqlstate || ' ' || sqlerrm;
        end;
        return next;
    end loop;
end
$$;
-- Mallory may fire, too. She reaches no table, no view, no other function, no setting; and nothing of the shop's.
set session authorization regress_mallory;
alter system set rea.enabled = off;
select rea.fire_event('guarded.hers', 'G-2', event_id => 'G-2');
select rea.wait_operation('G-2', timeout_ms => 20000) ->> 'status' as her_own;
select count(*) as her_own from rea.query_instance('G-2');
select count(*) as theirs from rea.query_instance('G-1');
select rea.operation('G-1', 'shop') as theirs, rea.operation(:'theirs'::uuid) as their_instance, rea.operation(:'their_event') as their_uid, rea.wait_operation('G-1', 'shop') as waited;
\set VERBOSITY sqlstate
select rea.retry_instance(:'theirs'::uuid);
\set VERBOSITY default
select t.answer, left(t.attempt, 90) as attempt from regress.mallory_tries(array[
    'select * from rea.work_event', 'select * from rea.work_event_key', 'select * from rea.work_inbox', 'select * from rea.work_unrouted', 'select * from rea.workflow',
    'select * from rea.workflow_version', 'select * from rea.route', 'select * from rea.work_instance', 'select * from rea.work_queue', 'select * from rea.work_action_log',
    'select * from rea.work_instance_log', 'select * from rea.work_dead_letter', 'select * from rea.work_generation', 'select * from rea.lane_stat', 'select last_value from rea.work_inbox_inbox_id_seq',
    'select * from rea.events', 'select * from rea.instances', 'select * from rea.dead_letters', 'select * from rea.lanes', 'select * from rea.slow_actions', 'select * from rea.backlog',
    'select * from rea.workers', 'select * from rea.workflows', 'select * from rea.routes', 'select * from rea.live_worker', 'select * from rea.operation_part',
    'insert into rea.work_inbox (event_uid) values (gen_random_uuid())', 'update rea.work_queue set due_time = now()', 'delete from rea.work_dead_letter', 'truncate rea.work_event', 'lock table rea.work_queue',
    $$select rea.define_workflow('{}')$$, $$select * from rea.validate_workflow('{}')$$, $$select rea.disable_workflow('guardedFlow')$$, $$select rea.enable_workflow('guardedFlow')$$,
    $$select rea.define_route('hers', 'guarded.made', 'guardedFlow')$$, $$select rea.drop_route('guardedFlow')$$, $$select * from rea.match_event('guarded.made', 'K')$$,
    $$select rea.resume_instance(gen_random_uuid())$$, $$select * from rea.timeline('G-2')$$, 'select * from rea.doctor()', 'select * from rea.worker_seats()', 'select rea.server_state()',
    $$select rea.grant_app('regress_mallory')$$, $$select rea.grant_admin('regress_mallory')$$, $$select rea.check_role('regress_mallory')$$, $$select rea.may_see(10, 'postgres')$$,
    'set rea.enabled = off', 'create table rea.hers (x integer)', 'create function rea.fire_event() returns void language sql as ''''', 'create view rea.hers as select 1',
    'drop extension rea', 'drop function rea.fire_event', 'alter table rea.work_event disable trigger all', 'alter function rea.doctor() owner to regress_mallory', 'set role regress_shop']) t;
reset session authorization;
-- Membership opens what the group fired; SET ROLE fires in the role's name.
grant regress_shop to regress_mallory;
set session authorization regress_mallory;
select count(*) as theirs_by_membership from rea.query_instance('G-1');
select rea.retry_instance(:'theirs'::uuid) as retried;
select rea.wait_operation('G-1', 'shop', 20000) ->> 'status' as status;
set role regress_shop;
select rea.fire_event('guarded.role', 'G-3') is not null as fired;
reset session authorization;
revoke regress_shop from regress_mallory;
select fired_by from rea.work_event where event_type = 'guarded.role';
-- A function that runs as its owner fires in its owner's name, and shows its owner's events only.
create function regress.fire_as_owner() returns void language sql security definer set search_path = pg_catalog, pg_temp as $$ select rea.fire_event('guarded.definer', 'G-4') $$;
alter function regress.fire_as_owner() owner to regress_shop;
grant execute on function regress.fire_as_owner() to regress_nobody;
set session authorization regress_nobody;
select regress.fire_as_owner();
reset session authorization;
select fired_by from rea.work_event where event_type = 'guarded.definer';
-- A viewer sees all and changes nothing.
set session authorization regress_watcher;
select e.biz_key, e.payload from rea.events e where e.biz_key = 'G-1';
select status from rea.query_instance('G-1');
select count(*) > 0 as told from rea.timeline('G-1');
select rea.fire_event('guarded.watched', 'G-5');
select rea.retry_instance(:'theirs'::uuid);
select * from rea.work_event;
reset session authorization;
-- A role without any grant gets nothing, not even the names.
set session authorization regress_nobody;
select rea.fire_event('guarded.nobody', 'G-6');
select * from rea.query_instance('G-1');
select rea.operation('G-1', 'shop');
select * from rea.events;
reset session authorization;
-- A trigger fires in the name of whoever changes the row: he needs the grant, too.
create table regress.guarded (id integer);
create trigger fire_guarded after insert on regress.guarded for each row execute function rea.fire_on_change('guarded.row', 'id');
grant insert on regress.guarded to regress_nobody, regress_mallory;
set session authorization regress_nobody;
insert into regress.guarded values (1);
set session authorization regress_mallory;
insert into regress.guarded values (2);
reset session authorization;
select biz_key, fired_by from rea.work_event where event_type = 'guarded.row';

drop table regress.guarded;
drop owned by regress_mallory, regress_shop, regress_watcher, regress_boss, regress_nobody;
drop role regress_mallory, regress_shop, regress_watcher, regress_boss, regress_nobody;
