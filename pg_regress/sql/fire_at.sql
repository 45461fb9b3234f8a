-- Events that fire later: shown as such, fired at their time, taken back before it.
select rea.define_workflow('{"workflowName": "laterFlow", "triggerEvent": "later.due",
    "actions": [{"name": "only", "type": "http", "when": "$.payload.go == true", "config": {"url": "http://receiver.test/", "timeoutMs": 1000}}]}');

-- Far away: stored, not routed, and said so everywhere.
select rea.fire_event('later.due', 'L-1', event_id => 'LATER-1', source => 'later', fire_at => now() + interval '1 day') as id;
select status, phase, workflow_name, waiting_for ~ '^fires at 2' as says_when from rea.query_instance('L-1');
select o ->> 'status' as status, (o ->> 'retryAfterSeconds')::integer between 86000 and 86400 as until_then, o -> 'error' as error
from rea.operation('LATER-1', 'later') o;
select status, started, unrouted_reason, fire_at > now() as fires_later from rea.events where biz_key = 'L-1';
select kind, status, detail ~ ', to fire at 2' as says_when from rea.timeline('L-1');
-- The same id again is the same event, whatever time it names.
select rea.fire_event('later.due', 'L-1', event_id => 'LATER-1', source => 'later', fire_at => now()) as id;
select status from rea.query_instance('L-1');

-- Taken back: shown as cancelled, once and for good.
select rea.cancel_event('LATER-1', 'later') as cancelled;
select rea.cancel_event('LATER-1', 'later') as cancelled;
select status, phase, waiting_for, end_time is not null as has_ended from rea.query_instance('L-1');
select rea.operation('LATER-1', 'later') - 'operationId' as operation;
select status, unrouted_reason from rea.events where biz_key = 'L-1';
select kind, status, case kind when 'unrouted' then detail end as detail from rea.timeline('L-1');
-- It was nobody's mistake: no finding, no alert.
select count(*) as to_announce from rea.work_unrouted where reason = 'cancelled' and announced_time is null;

-- Soon: at its time it is routed, not before.
select rea.fire_event('later.due', 'L-2', fire_at => clock_timestamp() + interval '300 ms') is not null as fired;
call regress.wait_until_still('L-2');
select status, steps from rea.query_instance('L-2');
select i.create_time >= e.fire_at as not_early, i.create_time < e.fire_at + interval '10 s' as not_late
from rea.work_event e join rea.work_instance i using (event_uid) where e.biz_key = 'L-2';
select rea.cancel_event(event_id) as cancelled from rea.events where biz_key = 'L-2';
-- A time that has passed, or none, is now.
select rea.fire_event('later.due', 'L-3', fire_at => now() - interval '1 year') is not null as fired;
call regress.wait_until_still('L-3');
select status from rea.query_instance('L-3');
select count(*) as delayed from rea.work_delayed;

-- In a batch, the same.
select count(*) as fired from rea.fire_events(jsonb_build_array(
    jsonb_build_object('event_type', 'later.due', 'biz_key', 'L-4', 'fire_at', now() + interval '1 hour'),
    jsonb_build_object('event_type', 'later.due', 'biz_key', 'L-5', 'fire_at', null)));
select biz_key, status = 'SCHEDULED' as fires_later from rea.events where biz_key in ('L-4', 'L-5') order by biz_key;

-- With its transaction it comes and goes.
begin;
select rea.fire_event('later.due', 'L-6', fire_at => now() + interval '1 hour') is not null as fired;
rollback;
select count(*) as delayed from rea.work_delayed;

-- What is refused
call regress.refused($$ select rea.fire_event('later.due', 'K', fire_at => 'infinity') $$);
call regress.refused($$ select rea.fire_event('later.due', 'K', fire_at => '-infinity') $$);
call regress.refused($$ select rea.cancel_event(null) $$);
call regress.refused($$ select rea.cancel_event('unknown') $$);
call regress.refused($$ select rea.cancel_event('LATER-1') $$);
-- Another role's event does not exist for an application.
create role regress_later;
select rea.grant_app('regress_later');
set role regress_later;
\set VERBOSITY terse
select rea.cancel_event('LATER-1', 'later');
\set VERBOSITY default
select rea.fire_event('later.due', 'L-7', event_id => 'LATER-7', fire_at => now() + interval '1 hour') as id;
select rea.cancel_event('LATER-7') as cancelled;
reset role;

select count(rea.cancel_event(event_id)) as cancelled from rea.events where status = 'SCHEDULED';
select rea.disable_workflow('laterFlow');
drop owned by regress_later;
drop role regress_later;
