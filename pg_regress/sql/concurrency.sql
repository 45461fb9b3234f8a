-- Workflows with concurrency: at most so many instances with the same key run at the same time, in the order of their events.
\pset null ∅
\pset format unaligned
select regress.define('{"workflowName": "placeFlow", "triggerEvent": "place.start", "concurrency": {"key": "${payload.account}", "limit": 1}, "actions": [
    {"name": "work", "type": "http", "config": {"url": "http://receiver/slow/1500", "timeoutMs": 5000}}]}');
select rea.fire_events('[{"event_type": "place.start", "biz_key": "place-1", "event_id": "place-1", "payload": {"account": "A"}},
    {"event_type": "place.start", "biz_key": "place-2", "event_id": "place-2", "payload": {"account": "A"}},
    {"event_type": "place.start", "biz_key": "place-3", "event_id": "place-3", "payload": {"account": "A"}},
    {"event_type": "place.start", "biz_key": "place-4", "event_id": "place-4", "payload": {"account": "B"}}]') as fired;
call regress.wait_for('q.waiting_for like ''waiting for a place: 2%'' from rea.query_instance(''place-3'') q');
select k, w from unnest(array['place-1', 'place-2', 'place-3', 'place-4']) k cross join lateral regress.words(k) w;
select q.status, q.phase, q.current_action, q.steps from rea.query_instance('place-3') q;
select rea.operation('place-3') - 'operationId' as operation;
select w.biz_key, w.kind, w.awaited_key, w.until from rea.waits w where w.workflow_name = 'placeFlow' order by w.biz_key;
call regress.wait_for('rea.operation(''place-3'') ->> ''status'' = ''SUCCEEDED''');
call regress.wait_for('count(*) = 4 from rea.instances i where i.workflow_name = ''placeFlow'' and i.status = ''SUCCESS''');
-- In the order of the events, and never two of one account at the same time
select string_agg(i.biz_key, ' ' order by a.start_time) as in_order,
       count(*) filter (where a.start_time < before) as overlaps
from (select i.instance_id, i.biz_key from rea.instances i where i.biz_key in ('place-1', 'place-2', 'place-3')) i
join (select a.instance_id, a.start_time, lag(a.end_time) over (order by a.start_time) as before
      from rea.work_action_log a join rea.work_instance p on p.instance_id = a.instance_id and p.biz_key in ('place-1', 'place-2', 'place-3')) a on a.instance_id = i.instance_id;
-- One that fails or is cancelled gives its place on.
select regress.define('{"workflowName": "placeWaits", "triggerEvent": "place.waits", "concurrency": {"key": "${event.bizKey}", "limit": 1}, "actions": [
    {"name": "work", "type": "wait", "config": {"any": [{"eventType": "place.done"}]}}]}');
select rea.fire_event('place.waits', 'place-5', event_id => 'place-5-a') is not null as fired;
call regress.wait_for('count(*) = 1 from rea.query_instance(''place-5'') q where q.waiting_for like ''waiting for event%''');
select rea.fire_event('place.waits', 'place-5', event_id => 'place-5-b') is not null as fired;
call regress.wait_for('count(*) = 1 from rea.query_instance(''place-5'') q where q.waiting_for like ''waiting for a place: 1 ahead%''');
select rea.cancel_instance(q.instance_id) from rea.query_instance('place-5') q where q.event_id = 'place-5-a';
call regress.wait_for('count(*) = 1 from rea.query_instance(''place-5'') q where q.event_id = ''place-5-b'' and q.waiting_for like ''waiting for event%''');
-- One that still waits for its place can be cancelled.
select rea.fire_event('place.waits', 'place-5', event_id => 'place-5-c') is not null as fired;
call regress.wait_for('count(*) = 1 from rea.query_instance(''place-5'') q where q.waiting_for like ''waiting for a place: 1 ahead%''');
select rea.cancel_instance(q.instance_id, reason => 'not wanted any more') from rea.query_instance('place-5') q where q.event_id = 'place-5-c';
call regress.wait_for('rea.operation(''place-5-c'') ->> ''status'' = ''CANCELLED''');
select rea.fire_event('place.done', 'place-5') is not null as fired;
call regress.wait_for('rea.operation(''place-5-b'') ->> ''status'' = ''SUCCEEDED''');
select q.event_id, q.status, q.error_code, q.error, q.steps from rea.query_instance('place-5') q order by q.event_id;
select count(*) as places from rea.work_place;
