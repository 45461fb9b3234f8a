-- What the reading functions and views say about instances in every state, who sees what, and who may call what.
-- The rows are made by hand, as a worker writes them, in a transaction that is rolled back: no worker ever sees them.
set client_min_messages = warning;
create extension if not exists rea;
set timezone = 'UTC';
set intervalstyle = 'postgres';
\pset null ∅
\pset format unaligned
-- A RUNNING instance needs a live worker to run in.
do $$
begin
    for i in 1 .. 600 loop
        exit when exists (select from rea.live_worker);
        perform pg_sleep(0.05);
    end loop;
end
$$;
begin;

insert into rea.workflow (workflow_name, current_version, enabled, update_time) values
    ('readFlow', 1, true, now()), ('readAudit', 1, true, now()), ('readOff', 1, false, now());
insert into rea.workflow_version (workflow_name, version, definition, defined_by, create_time) values
    ('readFlow', 1, '{"workflowName": "readFlow", "triggerEvent": "read.created", "actions": [
        {"name": "deductStock", "type": "http", "config": {"url": "http://stock.internal/deduct", "timeoutMs": 3000}},
        {"name": "grantPoints", "type": "http", "config": {"url": "http://points.internal/grant", "timeoutMs": 5500}},
        {"name": "sendMessage", "type": "http", "config": {"url": "http://message.internal/send", "timeoutMs": 1000}}]}',
     'postgres', now()),
    ('readAudit', 1, '{"workflowName": "readAudit", "actions": [
        {"name": "note", "type": "http", "config": {"url": "http://audit.internal/note", "timeoutMs": 1000}}]}', 'postgres', now()),
    ('readOff', 1, '{"workflowName": "readOff", "actions": [
        {"name": "note", "type": "http", "config": {"url": "http://audit.internal/note", "timeoutMs": 1000}}]}', 'postgres', now());

create function pg_temp.uid(n integer) returns uuid language sql immutable as
    $$ select ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid $$;

-- Makes event number n; its uid ends in n.
create function pg_temp.event(n integer, key text, id text default null, src text default '', fired_by name default 'regress_app_one',
                              event_type text default 'read.created')
returns void language sql as $$
    insert into rea.work_event (event_uid, create_time, occurred_at, event_type, biz_key, event_id, source, payload, attributes, fired_by)
    values (pg_temp.uid(n), now() - interval '1 hour' + n * interval '1 second', now(), event_type, key,
            coalesce(id, pg_temp.uid(n)::text), src, '{"qty": 1}', '{}', fired_by);
    insert into rea.work_event_key (source, event_id, event_uid, create_time)
    select src, id, pg_temp.uid(n), now() where id is not null;
$$;

-- Makes instance number 1000 + n of event n, at an action; one that is alive has its queue row.
create function pg_temp.instance(n integer, status text, action_index integer, more jsonb default '{}', flow text default 'readFlow',
                                 instance_no integer default null)
returns void language sql as $$
    insert into rea.work_instance (
        instance_id, event_uid, create_time, workflow_version, route_version, workflow_name, route_name, biz_key, event_id, source,
        fired_by, status, current_action_index, retry_count, version, update_time, first_try_time, next_retry_time, paused_time,
        end_time, context, result, error_code, error)
    select pg_temp.uid(coalesce(instance_no, 1000 + n)), e.event_uid, e.create_time + interval '1 ms', 1, 1, flow,
           coalesce(more ->> 'route', flow), e.biz_key, e.event_id, e.source, e.fired_by, status, action_index,
           coalesce((more ->> 'retries')::integer, 0), 3, statement_timestamp() - interval '1.2 s',
           case when more ->> 'tried' is distinct from 'no' then now() end,
           now() + (more ->> 'retry_in')::interval, case when status = 'PAUSED' then now() end,
           case when status in ('SUCCESS', 'FAILED', 'DEAD', 'CANCELLED') then now() end,
           more -> 'context', more -> 'result', more ->> 'code', more ->> 'message'
    from rea.work_event e where e.event_uid = pg_temp.uid(n);
    insert into rea.work_queue (instance_id, due_time, owner_generation, attempt_no, lost_count, lane)
    select pg_temp.uid(coalesce(instance_no, 1000 + n)),
           case when status = 'PAUSED' then 'infinity' else now() + coalesce((more ->> 'retry_in')::interval, '-2 s') end,
           case when status = 'RUNNING' then coalesce((more ->> 'owner')::bigint, (select max(w.generation) from rea.live_worker w)) end,
           coalesce((more ->> 'attempt')::integer, 1), 0, coalesce(more ->> 'lane', 'http://stock.internal:80')
    where status in ('PENDING', 'RUNNING', 'WAITING', 'PAUSED', 'COMPENSATING');
$$;

select pg_temp.event(1, 'K-done', 'E-1', 'shop'), pg_temp.event(2, 'K-running'), pg_temp.event(3, 'K-retry'), pg_temp.event(4, 'K-dead'),
       pg_temp.event(5, 'K-failed'), pg_temp.event(6, 'K-paused'), pg_temp.event(7, 'K-cancelled'), pg_temp.event(8, 'K-accepted'),
       pg_temp.event(9, 'K-unrouted', 'E-9', event_type => 'read.unknown'), pg_temp.event(10, 'K-full'), pg_temp.event(11, 'K-ready'),
       pg_temp.event(12, 'K-vanished'), pg_temp.event(13, 'K-two'), pg_temp.event(14, 'K-same'), pg_temp.event(15, 'K-other', fired_by => 'regress_app_two'),
       pg_temp.event(16, 'K-late'), pg_temp.event(17, 'K-first'), pg_temp.event(18, 'K-done', 'E-18', 'shop'),
       pg_temp.event(19, 'K-gone', fired_by => 'nobody_any_more'), pg_temp.event(20, 'K-waiting'), pg_temp.event(21, 'K-by-hand')
\g /dev/null
select pg_temp.instance(1, 'SUCCESS', 3, '{"context": {"deductStock": {"status": "SUCCESS", "output": {"id": 7}}, "grantPoints": {"status": "SKIPPED"}}, "result": {"id": 7}}'),
       pg_temp.instance(2, 'RUNNING', 1, '{"attempt": 2, "retries": 1, "context": {"deductStock": {"status": "FAILED"}}}'),
       pg_temp.instance(3, 'PENDING', 0, '{"retries": 2, "retry_in": "90 s", "attempt": 2}'),
       pg_temp.instance(4, 'DEAD', 1, '{"retries": 5, "code": "http_503", "message": "the receiver answered 503"}'),
       pg_temp.instance(5, 'FAILED', 2, '{"code": "http_400", "message": "the receiver answered 400"}'),
       pg_temp.instance(6, 'PAUSED', 0, '{"code": "http_400", "message": "the receiver answered 400"}'),
       pg_temp.instance(7, 'CANCELLED', 1),
       pg_temp.instance(10, 'PENDING', 1, '{"lane": "http://points.internal:80", "tried": "no"}'),
       pg_temp.instance(11, 'PENDING', 0, '{"tried": "no"}'),
       pg_temp.instance(12, 'RUNNING', 0, '{"owner": -7}'),
       pg_temp.instance(13, 'SUCCESS', 3, '{"result": {"ok": true}}'),
       pg_temp.instance(13, 'PENDING', 0, '{"retries": 1, "retry_in": "80 s"}', 'readAudit', 2013),
       pg_temp.instance(14, 'FAILED', 0, '{"code": "timeout", "message": "no answer in time"}', 'readAudit', 2014),
       pg_temp.instance(14, 'SUCCESS', 1, '{"route": "auditTwice", "result": 2}', 'readAudit', 2015),
       pg_temp.instance(15, 'SUCCESS', 3),
       pg_temp.instance(16, 'FAILED', 0, '{"code": "deadline", "message": "the workflow''s timeout has passed", "tried": "no"}'),
       pg_temp.instance(17, 'RUNNING', 0),
       pg_temp.instance(18, 'SUCCESS', 3),
       pg_temp.instance(19, 'SUCCESS', 3),
       pg_temp.instance(20, 'WAITING', 1),
       pg_temp.instance(21, 'PAUSED', 1, '{"tried": "no"}')
\g /dev/null
insert into rea.work_unrouted (event_uid, create_time, reason, announced_time)
values (pg_temp.uid(9), now(), 'no_route', null);
insert into rea.work_inbox (event_uid) values (pg_temp.uid(8));
insert into rea.lane_stat (lane, in_flight, max_in_flight, success_count, failure_count, p95_ms, gone, update_time) values
    ('http://points.internal:80', 64, 64, 900, 100, 45, false, now()),
    ('http://stock.internal:80', 2, 64, 10, 0, 12, false, now()),
    ('http://old.internal:80', 0, 64, 0, 3, 3, true, now()),
    ('http://quiet.internal:80', 0, 64, 0, 0, null, false, now());
insert into rea.work_instance_log (instance_id, log_id, create_time, old_status, new_status, cause) values
    (pg_temp.uid(1004), 1, now(), 'PENDING', 'RUNNING', 'claimed'), (pg_temp.uid(1004), 4, now(), 'RUNNING', 'PENDING', 'http_503'),
    (pg_temp.uid(1004), 5, now(), 'PENDING', 'RUNNING', 'claimed'), (pg_temp.uid(1004), 8, now(), 'RUNNING', 'DEAD', 'http_503');
insert into rea.work_action_log (instance_id, log_id, attempt_no, cost_ms, start_time, end_time, create_time, next_retry_time,
                                 action_name, status, request_summary, response_summary, error_code, error_msg) values
    (pg_temp.uid(1004), 2, 1, 12, now(), now(), now(), null, 'deductStock', 'SUCCESS', 'POST …', '200 {"id": 7}', null, null),
    (pg_temp.uid(1004), 3, 1, 30, now(), now(), now(), now(), 'grantPoints', 'FAILED', 'POST …', '503', 'http_503', 'the receiver answered 503'),
    (pg_temp.uid(1004), 6, 2, 40, now(), now(), now(), null, 'grantPoints', 'LOST', null, null, 'worker_lost', 'the worker vanished'),
    (pg_temp.uid(1004), 7, 3, 50, now(), now(), now(), null, 'grantPoints', 'FAILED', 'POST …', '503', 'http_503', 'the receiver answered 503'),
    (pg_temp.uid(1001), 2, 0, 0, now(), now(), now(), null, 'grantPoints', 'SKIPPED', null, null, 'skipped', 'when is false'),
    (pg_temp.uid(1003), 2, 2, 8, now(), now(), now(), now() + interval '90 s', 'deductStock', 'FAILED', 'POST …', null, 'connect', 'connection refused');
insert into rea.work_dead_letter (instance_id, create_time, workflow_name, biz_key, status, action_name, error_code, error) values
    (pg_temp.uid(1004), now(), 'readFlow', 'K-dead', 'DEAD', 'grantPoints', 'http_503', 'the receiver answered 503');
insert into rea.route (route_name, version, active, event_type, workflow_name, route_group, priority, match_contains, match_path,
                       from_workflow, defined_by, create_time) values
    ('readFlow', 1, true, 'read.created', 'readFlow', 'default', 0, null, null, true, 'postgres', now()),
    ('readWechat', 2, true, 'read.created', 'readFlow', 'default', 0, '{"channel": "wechat"}', null, false, 'postgres', now()),
    ('readWechat', 1, false, 'read.created', 'readFlow', 'default', 0, null, null, false, 'postgres', now()),
    ('readLarge', 1, true, 'read.created', 'readFlow', 'default', -1, null, '$.payload.amount > 100', false, 'postgres', now()),
    ('readAny', 1, true, 'read.*', 'readAudit', 'audit', 0, null, null, false, 'postgres', now()),
    ('readCreated', 1, true, 'read.created.*', 'readAudit', 'audit', 0, null, null, false, 'postgres', now()),
    ('readExactOff', 1, true, 'read.created', 'readOff', 'audit', 0, null, null, false, 'postgres', now()),
    ('readOther', 1, true, 'reading.other', 'readAudit', 'audit', 0, null, null, false, 'postgres', now());

create function pg_temp.words(told text) returns text language sql immutable as $$
    select regexp_replace(regexp_replace(told, 'for \d+\.\d s', 'for N s'),
                          'at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}[+-]\d\d', 'at TIME')
$$;
-- retryAfterSeconds without what depends on the speed of this machine: null, 1, or the time until a retry.
create function pg_temp.steady(operation jsonb) returns jsonb language sql immutable as $$
    select operation || case when (operation ->> 'retryAfterSeconds')::integer between 40 and 90
                             then '{"retryAfterSeconds": "until the retry"}' else '{}'::jsonb end
$$;

-- query_instance: a row per instance, one for an event that is not routed or that nothing matched
select q.biz_key, q.status, q.phase, q.current_action, q.action_index, q.retry_count, q.next_retry_time - now() as retry_in,
       pg_temp.words(q.waiting_for) as waiting_for, q.error_code, q.steps, q.end_time is not null as ended
from (select distinct e.biz_key from rea.work_event e where e.biz_key like 'K-%') k
cross join lateral rea.query_instance(k.biz_key) q
order by q.biz_key, q.create_time, q.instance_id;
select q.event_id, q.event_type, q.source, q.workflow_name, q.workflow_version, q.error from rea.query_instance('K-done') q;
select count(*) as rows_for_null from rea.query_instance(null);

-- operation of an event: what is unfinished decides, then what went worst
select e.biz_key, pg_temp.steady(rea.operation(e.event_id, e.source)) as operation
from rea.work_event e where e.biz_key like 'K-%' and e.event_uid <> pg_temp.uid(18) order by e.biz_key;
-- it is found by the id of its source, or by its uid; nothing else is an error
select rea.operation('E-1', 'shop') ->> 'operationId' as by_id, rea.operation(pg_temp.uid(1)::text) ->> 'operationId' as by_uid,
       rea.operation(upper(pg_temp.uid(2)::text)) ->> 'status' as upper_case, rea.operation('E-1') as wrong_source,
       rea.operation(pg_temp.uid(1)::text, 'shop') as uid_with_source, rea.operation('{') as brace, rea.operation('') as empty,
       rea.operation(null::text) as null_id, rea.operation('E-1', null) as null_source,
       rea.operation(pg_temp.uid(999)::text) as unknown, rea.operation(pg_temp.uid(999)) as unknown_instance,
       rea.operation(null::uuid) as null_instance;
-- operation of an instance
select pg_temp.steady(rea.operation(i.instance_id)) as operation
from rea.work_instance i where i.biz_key in ('K-done', 'K-two', 'K-dead') order by i.instance_id;
-- a retry that never comes is worth a question a year
update rea.work_instance set next_retry_time = 'infinity' where instance_id = pg_temp.uid(1003);
select rea.operation(pg_temp.uid(3)::text) -> 'retryAfterSeconds' as event, rea.operation(pg_temp.uid(1003)) -> 'retryAfterSeconds' as instance;
update rea.work_instance set next_retry_time = now() + interval '90 s' where instance_id = pg_temp.uid(1003);

-- timeline: the whole story, by business key, event id, event uid or instance id
select t.kind, right(t.instance_id::text, 4) as instance, t.subject, t.status, pg_temp.words(t.detail) as detail, t.cost_ms
from rea.timeline('K-dead') t;
select a.what, count(t.kind) as rows, count(distinct t.instance_id) as instances
from (values ('K-done'), ('E-1'), (pg_temp.uid(13)::text), (pg_temp.uid(2013)::text), ('E-9'), ('K-accepted'), ('nonsense'), (null)) a (what)
left join lateral rea.timeline(a.what) t on true
group by a.what order by a.what;
select t.kind, t.subject, t.status, t.detail from rea.timeline('E-9') t;
select t.kind, t.status, t.detail from rea.timeline('K-done') t where t.kind in ('event', 'attempt');

-- match_event: every route for the type, in the order of choice, and why
select m.route_name, m.version, m.route_group, m.priority, m.workflow_name, m.matched, m.chosen, m.why
from rea.match_event('read.created', 'K', '{"channel": "wechat"}') m;
select m.route_name, m.matched, m.chosen, m.why from rea.match_event('read.created', 'K', '{"amount": 101}') m;
select m.route_name, m.matched, m.chosen, m.why from rea.match_event('read.created', 'K', '{"amount": "much"}') m;
select m.route_name, m.matched, m.chosen, m.why from rea.match_event('read.created.eu', 'K') m;
select count(*) as routes from rea.match_event('unread', 'K');

-- views
select e.status, e.started, e.unrouted_reason, count(*) from rea.events e where e.biz_key like 'K-%' group by 1, 2, 3 order by 1, 2;
select i.biz_key, i.event_type, i.route_name, i.phase, i.current_action
from rea.instances i where i.biz_key in ('K-same', 'K-paused') order by i.instance_id;
select d.workflow_name, d.workflow_version, d.biz_key, d.status, d.action_name, d.retry_count, d.error_code, d.error, d.announced_time
from rea.dead_letters d where d.biz_key like 'K-%';
select l.lane, l.due, l.in_flight, l.max_in_flight, now() - l.oldest_due as waits, l.success_rate, l.p95_ms, l.state
from rea.lanes l where l.lane like '%.internal:80' order by l.lane;
select s.workflow_name, s.action_name, s.attempts, s.avg_ms, s.p95_ms, s.max_ms, s.failures_last_hour
from rea.slow_actions s where s.workflow_name = 'readFlow';
select b.part, b.name, b.due, b.later, now() - b.oldest as waits from rea.backlog b where b.name like '%.internal:80' order by b.name;
select b.due > 0 as due, b.oldest is not null as oldest from rea.backlog b where b.part = 'inbox';
select w.live, w.pid > 0 as pid, w.generation > 0 as generation from rea.workers w limit 1;
select c.check_name, c.status, c.remedy is not null as remedy from rea.doctor() c
where c.check_name in ('inbox', 'unrouted', 'dead_letters', 'paused') order by 1;

-- grants: nobody may do anything by default; three functions hand out exactly what the manual says
select p.oid::regprocedure as open_to_all from pg_proc p
where p.pronamespace = 'rea'::regnamespace and has_function_privilege('public', p.oid, 'EXECUTE') order by 1;
select p.oid::regprocedure as without_comment from pg_proc p
where p.pronamespace = 'rea'::regnamespace and obj_description(p.oid, 'pg_proc') is null order by 1;
select p.oid::regprocedure as definer_with_open_path from pg_proc p
where p.pronamespace = 'rea'::regnamespace and p.prosecdef and not coalesce('search_path=pg_catalog, pg_temp' = any (p.proconfig), false);
create role regress_app_one;
create role regress_app_two;
create role regress_member in role regress_app_one;
create role regress_viewer;
create role regress_admin;
create role "regress ""Odd";
create role regress_stranger;
select rea.grant_app('regress_app_one'), rea.grant_app('regress_app_two'), rea.grant_app('regress "Odd'), rea.grant_app('regress_member');
select rea.grant_viewer('regress_viewer'), rea.grant_admin('regress_admin');
\set VERBOSITY sqlstate
savepoint s;
select rea.grant_app('regress_nobody');
rollback to s;
select rea.grant_viewer(null);
rollback to s;
select rea.grant_admin('public');
rollback to s;
\set VERBOSITY default
select r.rolname, string_agg(distinct p.proname, ' ' order by p.proname) as functions
from pg_roles r
join pg_proc p on p.pronamespace = 'rea'::regnamespace and has_function_privilege(r.oid, p.oid, 'EXECUTE')
where r.rolname like 'regress%' and not r.rolsuper group by r.rolname order by r.rolname;
select r.rolname, string_agg(c.relname, ' ' order by c.relname) as relations
from pg_roles r
join pg_class c on c.relnamespace = 'rea'::regnamespace and c.relkind in ('r', 'v')
               and has_table_privilege(r.oid, c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
where r.rolname like 'regress%' and not r.rolsuper group by r.rolname order by r.rolname;

-- an application sees what its own role fired, also through membership; viewers see all; what a dropped role fired, only they
create temp table what as select pg_temp.uid(15)::text as event, pg_temp.uid(1015) as instance;
grant select on what to public;
create temp view seen as
select current_user, (select count(*) from rea.query_instance('K-running')) as one, (select count(*) from rea.query_instance('K-other')) as two,
       (select count(*) from rea.query_instance('K-gone')) as dropped, rea.operation(w.event) ->> 'status' as event_of_two,
       rea.operation(w.instance) ->> 'status' as instance_of_two from what w;
grant select on seen to public;
set session authorization regress_app_one;
select * from seen;
set session authorization regress_member;
select * from seen;
set session authorization regress_app_two;
select * from seen;
set session authorization regress_viewer;
select * from seen;
select (select count(*) from rea.timeline('K-other')) as timeline, (select count(*) from rea.events e where e.biz_key like 'K-%') as events,
       (select count(*) from rea.instances i where i.biz_key like 'K-%' and coalesce(i.waiting_for, i.phase, i.steps::text) is not null) as instances,
       (select count(*) from rea.dead_letters d where d.biz_key like 'K-%') as dead_letters,
       (select count(*) > 0 from rea.lanes) as lanes, (select count(*) > 0 from rea.slow_actions) as slow_actions,
       (select count(*) > 0 from rea.backlog) as backlog, (select count(*) > 0 from rea.workers) as workers,
       (select count(*) from rea.doctor()) as checks;
reset session authorization;
rollback;
