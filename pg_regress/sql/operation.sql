-- operation and wait_operation: a front end answers 202 with the event id and asks for the document later, or waits for it a while.
select regress.define('{"workflowName": "askFlow", "triggerEvent": "ask.made", "retryPolicy": {"maxRetries": 0}, "actions": [
    {"name": "call", "type": "http", "config": {"url": "http://receiver/${payload.path}", "timeoutMs": 5000}, "output": {"seen": "${response.body.seen}"}}], "output": {"seen": "${steps.call.output.seen}"}}'),
       regress.define('{"workflowName": "askAudit", "triggerEvent": "ask.*", "routeGroup": "audit", "match": {"audit": true}, "actions": [
    {"name": "note", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}}]}');
-- Before anything has run; unknown ids
begin;
select rea.fire_event('ask.made', 'A-0', '{"path": "echo"}', 'A-0', 'web');
select rea.operation('A-0', 'web') as own_transaction;
rollback;
select rea.operation('A-0', 'web') as rolled_back, rea.wait_operation('A-0', 'web') as not_waited_for;
-- Success
select rea.fire_event('ask.made', 'A-1', '{"path": "echo"}', 'A-1', 'web');
select rea.wait_operation('A-1', 'web', 20000);
select rea.operation('A-1', 'web') = rea.wait_operation('A-1', 'web') as same;
select rea.operation('A-1') as wrong_source;
-- Without an id of the source's, the returned id is the name.
select rea.fire_event('ask.made', 'A-2', '{"path": "echo"}') as id \gset
select rea.wait_operation(:'id', timeout_ms => 20000) - 'operationId' as operation, rea.operation(:'id') ->> 'operationId' = :'id' as names_itself;
-- Failure, with the step
select regress.define('{"workflowName": "askFail", "triggerEvent": "ask.fail", "retryPolicy": {"maxRetries": 0}, "actions": [
    {"name": "fine", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}}, {"name": "bad", "type": "http", "config": {"url": "http://receiver/status/400", "timeoutMs": 5000}}]}'),
       regress.define('{"workflowName": "askDead", "triggerEvent": "ask.dead", "retryPolicy": {"maxRetries": 0}, "actions": [{"name": "bad", "type": "http", "config": {"url": "http://receiver/status/503", "timeoutMs": 5000}}]}');
select rea.fire_event('ask.fail', 'A-3', event_id => 'A-3'), rea.fire_event('ask.dead', 'A-4', event_id => 'A-4'), rea.fire_event('asked', 'A-5', event_id => 'A-5'),
       rea.fire_event('ask.fail', 'A-6', '{"audit": true}', event_id => 'A-6');
select rea.wait_operation(e.event_id, timeout_ms => 20000) as operation from rea.work_event e where e.event_id in ('A-3', 'A-4', 'A-5', 'A-6') order by e.event_id;
-- Over all instances of the event, or for one of them
select i.workflow_name, rea.operation(i.instance_id) - 'operationId' as operation from rea.instances i where i.biz_key = 'A-6' order by 1;
-- While it runs
select regress.define('{"workflowName": "askSlow", "triggerEvent": "ask.slow", "actions": [{"name": "call", "type": "http", "config": {"url": "http://receiver/slow/1500", "timeoutMs": 5000}}]}');
select rea.fire_event('ask.slow', 'A-7', event_id => 'A-7');
call regress.wait_for($$ exists (select from rea.instances i where i.biz_key = 'A-7' and i.status = 'RUNNING') $$);
select w - 'retryAfterSeconds' as after_a_moment, (w -> 'retryAfterSeconds')::integer between 1 and 5 as ask_again from rea.wait_operation('A-7', timeout_ms => 100) w;
select rea.wait_operation('A-7', timeout_ms => 20000) ->> 'status' as status;
-- The timeout is honoured, and it cancels nothing.
select rea.fire_event('ask.slow', 'A-8', event_id => 'A-8');
select clock_timestamp() as start \gset
select rea.wait_operation('A-8', timeout_ms => 100) ->> 'status' <> 'SUCCEEDED' as not_done;
select clock_timestamp() - :'start' between interval '0.1 s' and interval '1.2 s' as waited_as_told;
select rea.wait_operation('A-8', timeout_ms => -5) ->> 'status' <> 'SUCCEEDED' as not_waited;
select rea.wait_operation('A-8', timeout_ms => 20000) ->> 'status' as status;
-- What it refuses: nothing would ever be seen to happen.
begin;
select rea.fire_event('ask.made', 'A-9', '{"path": "echo"}', 'A-9');
call regress.refused($$ select rea.wait_operation('A-9') $$);
rollback;
begin isolation level repeatable read;
call regress.refused($$ select rea.wait_operation('A-8') $$);
rollback;
begin isolation level serializable;
select rea.wait_operation('A-8');
rollback;
begin;
savepoint s;
select rea.fire_event('ask.made', 'A-10', '{"path": "echo"}', 'A-10');
release s;
select rea.wait_operation('A-10');
rollback;
call regress.refused($$ select rea.wait_operation(null) $$);
call regress.refused($$ select rea.wait_operation('A-8', timeout_ms => null) $$);
select rea.wait_operation('A-8', null) as null_source;
-- An earlier event's document may be waited for while another one is still uncommitted.
begin;
select rea.fire_event('ask.made', 'A-11', '{"path": "echo"}', 'A-11');
select rea.wait_operation('A-8') ->> 'status' as status;
rollback;
-- The document survives a retry by a person.
select rea.retry_instance(i.instance_id) as status from rea.instances i where i.biz_key = 'A-4';
select rea.wait_operation('A-4', timeout_ms => 20000) as operation;
-- A cancelled wait ends at once and cancels nothing.
select rea.fire_event('ask.slow', 'A-12', event_id => 'A-12');
set statement_timeout = '200ms';
select rea.wait_operation('A-12', timeout_ms => 20000);
reset statement_timeout;
select rea.wait_operation('A-12', timeout_ms => 20000) ->> 'status' as status;
