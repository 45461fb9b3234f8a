-- rerun_event fires an event once more with new ids; export_events gives events that fire_events takes.
select regress.define('{"workflowName": "rerunFlow", "triggerEvent": "rerun.made", "actions": [
    {"name": "call", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 5000},
     "output": {"key": "${response.body.headers.\"idempotency-key\"}"}}]}') as version;
select rea.fire_event('rerun.made', 'RR-1', '{"amount": 1.50}', 'RR-1', 'shop', '{"channel": "web"}', 'case-1', 'cause-1', '2026-01-01 10:00+00');
call regress.wait_until_still('RR-1');
select rea.rerun_event('RR-1', 'shop') as again \gset
call regress.wait_for($$ count(*) = 2 and bool_and(q.status = 'SUCCESS') from rea.query_instance('RR-1') q $$);
select e.event_id = 'RR-1' as first, e.event_type, e.source, e.payload, e.attributes, e.correlation_id, e.causation_id, e.occurred_at at time zone 'UTC' as occurred_at, e.fired_by
from rea.work_event e where e.biz_key = 'RR-1' order by e.event_uid;
-- The new event is found by its id, with its source or alone; the receiver saw another key.
select rea.operation(:'again', 'shop') ->> 'status' as status, rea.operation(:'again') ->> 'status' as by_id_alone;
select count(distinct i.context) as keys from rea.instances i where i.biz_key = 'RR-1';
select regexp_replace(t.detail, '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', 'UUID') as detail from rea.timeline(:'again') t where t.kind = 'event';
-- It can be run again in its turn, and by whoever may.
select rea.rerun_event(:'again', 'shop') is not null as third;
call regress.refused($$ select rea.rerun_event('RR-1') $$);
call regress.refused($$ select rea.rerun_event('RR-2', 'shop') $$);
call regress.refused($$ select rea.rerun_event(null) $$);
call regress.wait_for($$ count(*) = 3 and bool_and(q.status = 'SUCCESS') from rea.query_instance('RR-1') q $$);

-- By the rules in force: the workflow is another one by now.
select regress.define('{"workflowName": "rerunFlow", "actions": [{"name": "call", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}}]}') as version;
select rea.rerun_event('RR-1', 'shop') as unrouted \gset
call regress.wait_for(format($$ exists (select from rea.events e where e.event_id = %L and e.status = 'UNROUTED') $$, :'unrouted'));

-- export_events: in the order of firing, by type or prefix; fired again under the same ids nothing starts.
select rea.fire_event('rerun.exported', 'RX-1', '{"n": 1}', 'RX-1', 'shop', occurred_at => '2026-01-01 10:00+00'), rea.fire_event('rerun.exported', 'RX-2', '{"n": 2}', 'RX-2', 'shop');
select e - array['eventUid', 'occurred_at'] as event from rea.export_events('-infinity', 'infinity', 'rerun.exported') e;
select e ->> 'event_id' as event_id, (e ->> 'occurred_at')::timestamptz < '2026-02-01' as long_ago from rea.export_events('-infinity', 'infinity', 'rerun.*') e where e ->> 'biz_key' like 'RX-_';
select count(*) as none from rea.export_events('-infinity', '2000-01-01') e;
select count(*) = (select count(*) from rea.work_event) as every_event from rea.export_events('-infinity', 'infinity') e;
select rea.fire_events((select jsonb_agg(e) from rea.export_events('-infinity', 'infinity', 'rerun.exported') e)) as id;
select count(*) as events from rea.work_event e where e.event_type = 'rerun.exported';
