-- when: an action whose predicate is false or null is skipped, and the log says so; the rest goes on.
select regress.define('{"workflowName": "whenFlow", "triggerEvent": "when.made", "actions": [
    {"name": "always", "type": "http", "when": "true == true", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}, "output": {"seen": "${response.body.seen}"}},
    {"name": "vip", "type": "http", "when": "$.payload.vip == true", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}, "output": {"x": 1}},
    {"name": "large", "type": "http", "when": "$.payload.amount > 100", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}},
    {"name": "after", "type": "http", "when": "$.steps.vip.status == \"SKIPPED\" && exists($.steps.always.output.seen)", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}}],
    "output": {"vip": "${steps.vip.output.x ?? \"no vip\"}"}}') as version;
call regress.run('when.made', 'W-1', '{"vip": true, "amount": 101}');
call regress.run('when.made', 'W-2', '{"vip": false, "amount": 100}');
call regress.run('when.made', 'W-3', '{"vip": null, "amount": "much"}');
call regress.run('when.made', 'W-4');
select i.biz_key, i.status, i.steps, i.result from rea.instances i where i.workflow_name = 'whenFlow' order by 1;
select i.biz_key, l.action_name, l.status, l.attempt_no, l.request_summary, l.error_code, l.error_msg
from rea.work_action_log l join rea.work_instance i using (instance_id) where i.workflow_name = 'whenFlow' and l.status = 'SKIPPED' order by i.biz_key, l.log_id;
-- A workflow all of whose actions are skipped succeeds without sending anything.
select regress.define('{"workflowName": "whenNever", "triggerEvent": "when.never", "actions": [
    {"name": "first", "type": "http", "when": "1 == 2", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}},
    {"name": "second", "type": "http", "when": "$.payload.missing == 1", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}}]}') as version;
call regress.run('when.never', 'W-5');
select status, action, steps from regress.outcome('W-5');
select rea.operation(e.event_id) - 'operationId' as operation from rea.work_event e where e.biz_key = 'W-5';
-- Every operator of SQL/JSON is there.
select regress.define('{"workflowName": "whenRich", "triggerEvent": "when.rich", "actions": [
    {"name": "regex", "type": "http", "when": "$.payload.sku like_regex \"^cup-[0-9]+$\"", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}},
    {"name": "filter", "type": "http", "when": "exists($.payload.items ? (@.n > 1 && @.sku == $.payload.sku))", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}},
    {"name": "date", "type": "http", "when": "$.payload.due.datetime() < \"2026-02-01T00:00:00+00:00\".datetime()", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}},
    {"name": "unknown", "type": "http", "when": "($.payload.missing > 1) is unknown", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}}]}') as version;
call regress.run('when.rich', 'W-6', '{"sku": "cup-7", "items": [{"n": 2, "sku": "cup-7"}], "due": "2026-01-31T23:30:00+00:00", "missing": "x"}');
select status, steps from regress.outcome('W-6');
