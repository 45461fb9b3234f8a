-- What is undone when an instance fails for good: in which order, what is kept, what happens when an undo fails.
\pset null ∅
\pset format unaligned
-- The keys under which undo actions were sent, and how often
create function regress.undone(key text) returns table (undo text, status text, attempts bigint, idempotency_key text) language sql as $$
    select a.action_name, a.status, count(*),
           min(replace(substring(a.response_summary from '"idempotency-key": "([^"]*)"'), a.instance_id::text, 'ID'))
    from rea.work_action_log a join rea.work_instance i on i.instance_id = a.instance_id
    where i.biz_key = key and a.action_name like '%~undo' group by a.action_name, a.status order by min(a.log_id)
$$;
-- Reverse order; what says "keep", what was skipped and what never ran is left alone; the failed action itself was answered.
select regress.define('{"workflowName": "undoFlow", "triggerEvent": "undo.start", "retryPolicy": {"schedule": [0.05]}, "actions": [
    {"name": "stock", "type": "http", "config": {"url": "http://receiver/say/%7B%22id%22%3A7%7D", "timeoutMs": 5000}, "output": {"id": "${response.body.id}"},
     "compensate": {"type": "http", "config": {"url": "http://receiver/echo/restore/${steps.stock.output.id}", "timeoutMs": 5000}}},
    {"name": "mail", "type": "http", "config": {"url": "http://receiver/say/1", "timeoutMs": 5000}, "compensate": "keep"},
    {"name": "points", "type": "http", "config": {"url": "http://receiver/say/2", "timeoutMs": 5000},
     "compensate": {"type": "http", "config": {"url": "http://receiver/echo/take", "timeoutMs": 5000}}},
    {"name": "skipped", "type": "http", "when": "$.payload.none == 1", "config": {"url": "http://receiver/say/3", "timeoutMs": 5000},
     "compensate": {"type": "http", "config": {"url": "http://receiver/echo/never", "timeoutMs": 5000}}},
    {"name": "refused", "type": "http", "config": {"url": "http://receiver/status/400", "timeoutMs": 5000},
     "compensate": {"type": "http", "config": {"url": "http://receiver/echo/refused", "timeoutMs": 5000}}},
    {"name": "later", "type": "http", "config": {"url": "http://receiver/say/4", "timeoutMs": 5000},
     "compensate": {"type": "http", "config": {"url": "http://receiver/echo/later", "timeoutMs": 5000}}}]}');
call regress.run('undo.start', 'undo-1');
select o.status, o.action, o.code, o.error, o.steps from regress.outcome('undo-1') o;
select i.compensation, i.end_status, i.undo_no from rea.instances i where i.biz_key = 'undo-1';
select rea.operation(q.event_id) - 'operationId' as operation from rea.query_instance('undo-1') q;
select s.* from regress.brief('undo-1') s where s.kind <> 'event';
select u.* from regress.undone('undo-1') u;
select substring(a.response_summary from '"path": "([^"]*)"') as path from rea.work_action_log a join rea.work_instance i on i.instance_id = a.instance_id
where i.biz_key = 'undo-1' and a.action_name = 'stock~undo';
-- What was undone cannot be retried.
call regress.refused_of('select rea.retry_instance(%L)', 'select d.instance_id from rea.dead_letters d where d.biz_key = ''undo-1''');

-- The one whose outcome is unknown is undone too, with retries of its own; one that was answered is not.
select regress.define('{"workflowName": "undoUnknown", "triggerEvent": "undo.unknown", "actions": [
    {"name": "slow", "type": "http", "retryPolicy": {"maxRetries": 0}, "config": {"url": "http://receiver/slow/1000", "timeoutMs": 200},
     "compensate": {"type": "http", "retryPolicy": {"schedule": [0.05]}, "config": {"url": "http://receiver/first/1/503/echo/stop", "timeoutMs": 5000}}}]}');
call regress.run('undo.unknown', 'undo-2');
select o.status, o.action, o.code, o.steps from regress.outcome('undo-2') o;
select u.* from regress.undone('undo-2') u;

-- What succeeded in the very turn that failed is undone too.
select regress.define('{"workflowName": "undoAtOnce", "triggerEvent": "undo.atonce", "actions": [
    {"name": "told", "type": "emit", "config": {"eventType": "undo.told"},
     "compensate": {"type": "emit", "config": {"eventType": "undo.taken.back"}}},
    {"name": "missing", "type": "http", "config": {"url": "http://receiver/say/${payload.nothing}", "timeoutMs": 5000}}]}');
call regress.run('undo.atonce', 'undo-6');
call regress.wait_for('count(*) = 1 from rea.events e where e.biz_key = ''undo-6'' and e.event_type = ''undo.taken.back'' and e.status = ''UNROUTED''');
select o.status, o.code, o.steps from regress.outcome('undo-6') o where o.workflow is not null;
select s.* from regress.brief('undo-6') s where s.kind not in ('event', 'unrouted');

-- An undo that fails for good is noted and the others are made all the same.
select regress.define('{"workflowName": "undoFails", "triggerEvent": "undo.fails", "actions": [
    {"name": "one", "type": "http", "config": {"url": "http://receiver/say/1", "timeoutMs": 5000},
     "compensate": {"type": "http", "config": {"url": "http://receiver/echo/one", "timeoutMs": 5000}}},
    {"name": "two", "type": "http", "config": {"url": "http://receiver/say/2", "timeoutMs": 5000},
     "compensate": {"type": "http", "config": {"url": "http://receiver/status/404", "timeoutMs": 5000}}},
    {"name": "refused", "type": "http", "config": {"url": "http://receiver/status/400", "timeoutMs": 5000}}]}');
call regress.run('undo.fails', 'undo-3');
select o.status, o.steps from regress.outcome('undo-3') o;
select rea.operation(q.event_id) -> 'compensation' as compensation from rea.query_instance('undo-3') q;
select u.undo, u.status, u.attempts from regress.undone('undo-3') u;

-- While it undoes: how far it is
select regress.define('{"workflowName": "undoSlow", "triggerEvent": "undo.slow", "actions": [
    {"name": "one", "type": "http", "config": {"url": "http://receiver/say/1", "timeoutMs": 5000},
     "compensate": {"type": "http", "config": {"url": "http://receiver/echo/one", "timeoutMs": 5000}}},
    {"name": "two", "type": "http", "config": {"url": "http://receiver/say/2", "timeoutMs": 5000},
     "compensate": {"type": "http", "config": {"url": "http://receiver/slow/3000", "timeoutMs": 7000}}},
    {"name": "refused", "type": "http", "config": {"url": "http://receiver/status/400", "timeoutMs": 5000}}]}');
select rea.fire_event('undo.slow', 'undo-4', event_id => 'undo-4') is not null as fired;
call regress.wait_for('q.waiting_for like ''compensating: undo 1 of 2, running%'' from rea.query_instance(''undo-4'') q');
select w from regress.words('undo-4') w;
select q.status, q.phase, q.current_action, q.steps from rea.query_instance('undo-4') q;
select rea.operation('undo-4') - 'operationId' as operation;
call regress.wait_for('rea.operation(''undo-4'') ->> ''status'' = ''FAILED''');
select rea.operation('undo-4') -> 'compensation' as compensation;

-- Branches and items: the parent undoes what they did, the last first.
select regress.define('{"workflowName": "undoTree", "triggerEvent": "undo.tree", "actions": [
    {"name": "each", "type": "foreach", "config": {"items": "${payload.items}", "maxConcurrency": 1, "actions": [
        {"name": "book", "type": "http", "config": {"url": "http://receiver/say/1", "timeoutMs": 5000},
         "compensate": {"type": "http", "config": {"url": "http://receiver/echo/unbook/${item}", "timeoutMs": 5000}}}]}},
    {"name": "fan", "type": "parallel", "branches": {
        "a": [{"name": "pay", "type": "http", "config": {"url": "http://receiver/say/2", "timeoutMs": 5000},
               "compensate": {"type": "http", "config": {"url": "http://receiver/echo/refund", "timeoutMs": 5000}}}],
        "bb": [{"name": "before", "type": "wait", "config": {"durationSeconds": 0.4}}, {"name": "refused", "type": "http", "config": {"url": "http://receiver/status/400", "timeoutMs": 5000}}]}}]}');
call regress.run('undo.tree', 'undo-5', '{"items": ["x", "y"]}');
select o.status, o.code, o.error, o.steps from regress.outcome('undo-5') o;
select a.action_name, substring(a.response_summary from '"path": "([^"]*)"') as path,
       o.branch || ' of ' || o.parent_action as owner_in_key
from rea.work_action_log a join rea.work_instance i on i.instance_id = a.instance_id
join rea.work_instance o on o.instance_id::text = substring(a.response_summary from '"idempotency-key": "([^_"]*)_')
where i.biz_key = 'undo-5' and a.action_name like '%~undo' order by a.log_id;
