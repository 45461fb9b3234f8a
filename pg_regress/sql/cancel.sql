-- People stop instances: cancel_instance, pause_instance, resume_instance; and events do: cancelOn.
\pset null ∅
\pset format unaligned
select regress.define('{"workflowName": "stopFlow", "triggerEvent": "stop.start", "cancelOn": [{"eventType": "stop.withdrawn"}], "actions": [
    {"name": "first", "type": "http", "config": {"url": "http://receiver/slow/${payload.ms}", "timeoutMs": 5000},
     "compensate": {"type": "http", "config": {"url": "http://receiver/echo/undo", "timeoutMs": 5000}}},
    {"name": "fan", "type": "parallel", "branches": {
        "a": [{"name": "wait", "type": "wait", "config": {"any": [{"eventType": "stop.done"}]}}],
        "bb": [{"name": "each", "type": "foreach", "config": {"items": "${payload.items}", "actions": [{"name": "long", "type": "wait", "config": {"durationSeconds": 600}}]}}]}}]}');
create procedure regress.start_to_stop(key text, ms integer default 0) language plpgsql as $$
begin
    perform rea.fire_event('stop.start', key, jsonb_build_object('ms', ms, 'items', '["x", "y"]'::jsonb), event_id => key);
    commit;
    call regress.wait_for(format(case when ms = 0 then 'count(*) = 5 from rea.instances i where i.biz_key = %L and i.status = ''WAITING'''
                                      else 'q.status = ''RUNNING'' from rea.query_instance(%L) q' end, key));
end
$$;
-- A tree is cancelled as a whole.
call regress.start_to_stop('stop-1');
select rea.cancel_instance(q.instance_id, reason => 'the customer called') from rea.query_instance('stop-1') q;
call regress.wait_for('rea.operation(''stop-1'') ->> ''status'' = ''CANCELLED''');
select rea.operation('stop-1') - 'operationId' as operation;
select q.status, q.phase, q.error_code, q.error, q.end_time is not null as ended from rea.query_instance('stop-1') q;
select i.branch, i.status, i.error_code, i.error, i.compensation from rea.instances i where i.biz_key = 'stop-1' order by i.instance_id;
select count(*) as dead_letters from rea.dead_letters d where d.biz_key = 'stop-1';
call regress.refused_of('select rea.cancel_instance(%L)', 'select q.instance_id from rea.query_instance(''stop-1'') q');
call regress.refused('select rea.cancel_instance(''01900000-0000-7000-8000-000000000000'')');
call regress.refused('select rea.pause_instance(null)');
-- With compensate it undoes first what it did.
call regress.start_to_stop('stop-2');
select rea.cancel_instance(q.instance_id, compensate => true) from rea.query_instance('stop-2') q;
call regress.wait_for('rea.operation(''stop-2'') ->> ''status'' = ''CANCELLED''');
select rea.operation('stop-2') - 'operationId' as operation;
select s.kind, s.subject, s.status, s.detail from regress.brief('stop-2') s where s.kind in ('status', 'attempt') and s.subject not like 'fan/%';
-- An attempt in flight is waited for.
call regress.start_to_stop('stop-3', 2500);
select rea.cancel_instance(q.instance_id, reason => 'too slow') from rea.query_instance('stop-3') q;
select q.status, q.waiting_for from rea.query_instance('stop-3') q;
select s.kind, s.subject, s.status, s.detail from regress.brief('stop-3') s where s.kind = 'request';
call regress.wait_for('rea.operation(''stop-3'') ->> ''status'' = ''CANCELLED''');
select s.kind, s.subject, s.status from regress.brief('stop-3') s where s.kind in ('status', 'attempt');
-- An event of cancelOn does the same, with compensation; it is awaited.
call regress.start_to_stop('stop-4');
select w.kind, w.action_name, w.event_type from rea.waits w where w.biz_key = 'stop-4' order by w.kind, w.action_name;
select rea.fire_event('stop.withdrawn', 'stop-4', event_id => 'stop-4-withdrawn') is not null as fired;
call regress.wait_for('rea.operation(''stop-4'') ->> ''status'' = ''CANCELLED''');
select rea.operation('stop-4') - 'operationId' - 'steps' as operation;
select e.event_id, e.status from rea.events e where e.biz_key = 'stop-4' order by e.event_uid;
select s.kind, s.subject, s.status, s.detail from regress.brief('stop-4') s where s.kind = 'arrival';
-- Pause and resume: branches too
call regress.start_to_stop('stop-5');
select rea.pause_instance(q.instance_id, 'night') from rea.query_instance('stop-5') q;
call regress.wait_for('count(*) = 5 from rea.instances i where i.biz_key = ''stop-5'' and i.status = ''PAUSED''');
select q.status, q.phase, q.waiting_for, q.steps from rea.query_instance('stop-5') q;
select rea.operation('stop-5') - 'operationId' - 'steps' as operation;
select rea.fire_event('stop.done', 'stop-5', event_id => 'stop-5-done') is not null as fired;
call regress.wait_for('rea.operation(''stop-5-done'') ->> ''status'' = ''SUCCEEDED''');
call regress.refused_of('select rea.pause_instance(%L)', 'select q.instance_id from rea.query_instance(''stop-5'') q');
select rea.resume_instance(q.instance_id) from rea.query_instance('stop-5') q;
call regress.wait_for('rea.operation(''stop-5'') -> ''steps'' ->> ''wait'' = ''SUCCESS''');
call regress.wait_for('count(*) = 4 from rea.instances i where i.biz_key = ''stop-5'' and i.status = ''WAITING''');
select rea.operation('stop-5') - 'operationId' - 'retryAfterSeconds' as operation;
select rea.cancel_instance(q.instance_id) from rea.query_instance('stop-5') q;
call regress.wait_for('rea.operation(''stop-5'') ->> ''status'' = ''CANCELLED''');
-- A branch that stops for a person: nothing moves by itself any more, and the operation says so.
select regress.define('{"workflowName": "stopOnError", "triggerEvent": "stop.onerror", "actions": [
    {"name": "fan", "type": "parallel", "branches": {
        "a": [{"name": "asks", "type": "http", "onError": "pause", "config": {"url": "http://receiver/first/1/400/say/ok", "timeoutMs": 5000}}],
        "bb": [{"name": "quick", "type": "emit", "config": {"eventType": "stop.quick"}}]}}]}');
select rea.fire_event('stop.onerror', 'stop-6', event_id => 'stop-6') is not null as fired;
call regress.wait_for('rea.operation(''stop-6'') ->> ''status'' = ''MANUAL_REVIEW''');
select rea.operation('stop-6') - 'operationId' as operation;
select q.status, q.waiting_for from rea.query_instance('stop-6') q where q.workflow_name is not null;
select rea.retry_instance(i.instance_id) from rea.instances i where i.biz_key = 'stop-6' and i.status = 'PAUSED';
call regress.wait_for('rea.operation(''stop-6'') ->> ''status'' = ''SUCCEEDED''');
select c.check_name, c.status, c.detail from rea.doctor() c where c.check_name = 'signals';
