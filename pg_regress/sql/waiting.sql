-- Waits: for events before and after they begin, for all, for any, with a timeout, by correlation id, for a time.
\pset null ∅
\pset format unaligned
create function regress.waited(key text) returns table (status text, code text, output jsonb) language sql as $$
    select i.status, i.error_code,
           (i.context -> 'wait' -> 'output') || case when i.context -> 'wait' -> 'output' ? 'events' then jsonb_build_object('events', (
               select jsonb_agg(e -> 'type' order by n) from jsonb_array_elements(i.context -> 'wait' -> 'output' -> 'events') with ordinality a (e, n)))
               when i.context -> 'wait' -> 'output' ? 'until' then '{"until": "TIME"}' else '{}' end
    from rea.instances i where i.biz_key = key
$$;
-- Waits until the wait of a key has looked for what is there already.
create procedure regress.wait_until_waiting(key text) language plpgsql as $$
begin
    call regress.wait_for(format('count(*) = 1 from rea.query_instance(%L) q where q.status = ''WAITING'' and q.waiting_for like ''waiting for event%%''', key));
end
$$;

-- Any: the first event is enough; the others complete nothing.
select regress.define('{"workflowName": "waitAny", "triggerEvent": "wait.any", "actions": [
    {"name": "wait", "type": "wait", "config": {"any": [{"eventType": "wait.paid"}, {"eventType": "wait.cancelled", "match": {"by": "customer"}}], "timeoutSeconds": 3600}},
    {"name": "after", "type": "emit", "when": "$.steps.wait.output.eventType == \"wait.paid\"", "config": {"eventType": "wait.ready"}}]}');
select rea.fire_event('wait.any', 'wait-1', event_id => 'wait-1') is not null as fired;
call regress.wait_until_waiting('wait-1');
select w from regress.words('wait-1') w;
select q.status, q.phase, q.current_action, q.steps from rea.query_instance('wait-1') q;
select rea.operation('wait-1') - 'operationId' as operation;
select w.workflow_name, w.kind, w.action_name, w.event_type, w.awaited_key, w.correlation_id, w.match, w.create_time - w.since < interval '62 s' as since,
       w.until - w.create_time as timeout
from rea.waits w where w.biz_key = 'wait-1' order by w.event_type;
select rea.fire_event('wait.cancelled', 'wait-1', '{"by": "shop"}', event_id => 'wait-1-shop') is not null as fired;
call regress.wait_for('rea.operation(''wait-1-shop'') ->> ''status'' = ''UNROUTED''');
select w from regress.words('wait-1') w;
select rea.fire_event('wait.paid', 'wait-1', '{"amount": 1}', event_id => 'wait-1-paid') is not null as fired;
call regress.wait_for('rea.operation(''wait-1'') ->> ''status'' = ''SUCCEEDED''');
select w.* from regress.waited('wait-1') w;
-- The event that completed it is not unrouted: its operation is over, it is no row of its own, nobody is alerted.
call regress.wait_for('count(*) = 0 from rea.events e where e.biz_key = ''wait-1'' and e.status = ''ACCEPTED''');
select e.event_type, e.status, e.unrouted_reason from rea.events e where e.biz_key = 'wait-1' order by e.event_uid;
select rea.operation('wait-1-paid') as operation;
select q.event_id, q.status from rea.query_instance('wait-1') q where q.event_type <> 'wait.ready' order by q.event_id;
select s.* from regress.brief('wait-1') s where s.subject <> 'wait.ready';
select s.kind, s.subject, s.status from regress.brief('wait-1-paid') s;
-- The same event again, and a late one
select rea.fire_event('wait.paid', 'wait-1', '{"amount": 1}', event_id => 'wait-1-paid');
select rea.fire_event('wait.paid', 'wait-1', '{"amount": 2}', event_id => 'wait-1-late') is not null as fired;
call regress.wait_for('rea.operation(''wait-1-late'') ->> ''status'' = ''UNROUTED''');

-- An event that came before the wait began
select regress.define('{"workflowName": "waitLate", "triggerEvent": "wait.late", "actions": [
    {"name": "slow", "type": "http", "config": {"url": "http://receiver/slow/500", "timeoutMs": 5000}},
    {"name": "wait", "type": "wait", "config": {"all": [{"eventType": "wait.stocked"}, {"eventType": "wait.paid"}], "lookbackSeconds": 600}}]}');
select rea.fire_event('wait.paid', 'wait-2', event_id => 'wait-2-before') is not null as fired;
call regress.wait_for('rea.operation(''wait-2-before'') ->> ''status'' = ''UNROUTED''');
select rea.fire_event('wait.late', 'wait-2', event_id => 'wait-2') is not null as fired;
call regress.wait_for('rea.operation(''wait-2-before'') ->> ''status'' = ''SUCCEEDED''');
select w from regress.words('wait-2') w;
select rea.operation('wait-2') -> 'retryAfterSeconds' as retry_after;
select w.kind, w.event_type, w.until from rea.waits w where w.biz_key = 'wait-2';
select rea.fire_event('wait.stocked', 'wait-2', event_id => 'wait-2-stocked') is not null as fired;
call regress.wait_for('rea.operation(''wait-2'') ->> ''status'' = ''SUCCEEDED''');
select w.* from regress.waited('wait-2') w;
select e.event_id, e.status from rea.events e where e.biz_key = 'wait-2' order by e.event_uid;
-- One that is older than lookbackSeconds does not count; neither does the event that started the instance.
select regress.define('{"workflowName": "waitNoLook", "triggerEvent": "wait.nolook", "actions": [
    {"name": "wait", "type": "wait", "config": {"any": [{"eventType": "wait.paid"}, {"eventType": "wait.nolook"}], "lookbackSeconds": 0, "timeoutSeconds": 0.5}}]}');
select rea.fire_event('wait.paid', 'wait-3') is not null as fired;
call regress.run('wait.nolook', 'wait-3');
select w.* from regress.waited('wait-3') w;
select o.workflow, o.status, o.action, o.code, o.error, o.steps from regress.outcome('wait-3') o where o.workflow is not null;

-- Two waits of one instance for the same type: an event completes one of them.
select regress.define('{"workflowName": "waitTwice", "triggerEvent": "wait.twice", "actions": [
    {"name": "wait", "type": "wait", "config": {"any": [{"eventType": "wait.paid"}]}},
    {"name": "again", "type": "wait", "config": {"any": [{"eventType": "wait.paid"}]}}]}');
select rea.fire_event('wait.twice', 'wait-4', event_id => 'wait-4') is not null as fired;
call regress.wait_until_waiting('wait-4');
select rea.fire_event('wait.paid', 'wait-4', event_id => 'wait-4-one') is not null as fired;
call regress.wait_for('q.current_action = ''again'' from rea.query_instance(''wait-4'') q');
select rea.operation('wait-4') -> 'steps' as steps;
select rea.fire_event('wait.paid', 'wait-4', event_id => 'wait-4-two') is not null as fired;
call regress.wait_for('rea.operation(''wait-4'') ->> ''status'' = ''SUCCEEDED''');
-- One event, many instances that wait for it
select rea.fire_event('wait.any', 'wait-5', event_id => 'wait-5-a') is not null, rea.fire_event('wait.any', 'wait-5', event_id => 'wait-5-b') is not null;
call regress.wait_for('count(*) = 2 from rea.query_instance(''wait-5'') q where q.waiting_for like ''waiting for event%''');
select rea.fire_event('wait.paid', 'wait-5', event_id => 'wait-5-paid') is not null as fired;
call regress.wait_for('rea.operation(''wait-5-a'') ->> ''status'' = ''SUCCEEDED'' and rea.operation(''wait-5-b'') ->> ''status'' = ''SUCCEEDED''');
select s.kind, s.subject, s.status, s.detail from regress.brief('wait-5-paid') s;

-- Timeout: fails, or goes on and says so
select regress.define('{"workflowName": "waitFails", "triggerEvent": "wait.fails", "actions": [
    {"name": "wait", "type": "wait", "config": {"all": [{"eventType": "wait.paid"}, {"eventType": "wait.stocked"}], "timeoutSeconds": 0.3}}]}');
call regress.run('wait.fails', 'wait-6');
select o.status, o.action, o.code, o.error, o.steps from regress.outcome('wait-6') o;
select regress.define('{"workflowName": "waitGoesOn", "triggerEvent": "wait.goeson", "actions": [
    {"name": "wait", "type": "wait", "config": {"all": [{"eventType": "wait.paid"}, {"eventType": "wait.stocked"}], "timeoutSeconds": 0.3, "onTimeout": "continue"}}]}');
select rea.fire_event('wait.goeson', 'wait-7', event_id => 'wait-7') is not null, rea.fire_event('wait.stocked', 'wait-7') is not null;
call regress.wait_for('rea.operation(''wait-7'') ->> ''status'' = ''SUCCEEDED''');
select w.* from regress.waited('wait-7') w;

-- By correlation id, whatever the business key
select regress.define('{"workflowName": "waitCorrelated", "triggerEvent": "wait.correlated", "actions": [
    {"name": "wait", "type": "wait", "config": {"any": [{"eventType": "wait.shipped", "correlationId": "${event.correlationId}", "match": "$.payload.parcel > 1"}]}}]}');
select rea.fire_event('wait.correlated', 'wait-8', event_id => 'wait-8', correlation_id => 'case-8') is not null as fired;
call regress.wait_until_waiting('wait-8');
select w from regress.words('wait-8') w;
select rea.fire_event('wait.shipped', 'parcel-1', '{"parcel": 1}', correlation_id => 'case-8') is not null, rea.fire_event('wait.shipped', 'parcel-3', '{"parcel": 3}', correlation_id => 'case-9') is not null,
       rea.fire_event('wait.shipped', 'parcel-2', '{"parcel": 2}', event_id => 'parcel-2', correlation_id => 'case-8') is not null;
call regress.wait_for('rea.operation(''wait-8'') ->> ''status'' = ''SUCCEEDED''');
select s.subject, s.status, s.detail from regress.brief('wait-8') s where s.kind = 'arrival';

-- For a length of time, and until a time
select regress.define('{"workflowName": "waitTime", "triggerEvent": "wait.time", "actions": [
    {"name": "wait", "type": "wait", "config": {"durationSeconds": 0.5}},
    {"name": "until", "type": "wait", "config": {"until": "${payload.until}"}}]}');
select rea.fire_event('wait.time', 'wait-9', '{"until": "2001-01-01T00:00:00Z"}', event_id => 'wait-9') is not null,
       rea.fire_event('wait.time', 'wait-10', '{"until": "2100-01-01T00:00:00Z"}', event_id => 'wait-10') is not null,
       rea.fire_event('wait.time', 'wait-11', '{"until": "tomorrow"}', event_id => 'wait-11') is not null;
call regress.wait_for('rea.operation(''wait-9'') ->> ''status'' = ''SUCCEEDED''');
select w.* from regress.waited('wait-9') w;
call regress.wait_for('q.current_action = ''until'' and q.status = ''WAITING'' from rea.query_instance(''wait-10'') q');
select q.waiting_for, q.steps from rea.query_instance('wait-10') q;
select rea.operation('wait-10') -> 'retryAfterSeconds' as a_year;
select w.kind, w.action_name, w.event_type, w.until from rea.waits w where w.biz_key = 'wait-10';
call regress.wait_for('rea.operation(''wait-11'') ->> ''status'' = ''FAILED''');
select o.action, o.code, o.error from regress.outcome('wait-11') o;
select c.check_name, c.status, regexp_replace(c.detail, '\d+', 'N', 'g') as detail from rea.doctor() c where c.check_name in ('signals', 'waits');
select rea.cancel_instance(q.instance_id) from rea.query_instance('wait-10') q;
call regress.wait_for('rea.operation(''wait-10'') ->> ''status'' = ''CANCELLED''');
select count(*) as waits from rea.waits w where w.biz_key like 'wait-%';
