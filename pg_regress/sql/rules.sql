-- Rules in the older form (ruleId, nodes) are imported as workflows, the same ones every time.
\set rule '{"ruleId": "rulePaid", "ruleVersion": 3, "matchEventType": "rule.order.paid", "nodes": [{"nodeId": "lock-stock", "name": "Lock stock", "script": "return {locked = args == nil}", "timeoutSec": 10, "retryPolicy": {"maxRetries": 3, "backoffMS": 2000, "backoffMultiplier": 2}}, {"nodeId": "2", "name": "Grant points", "script": "return {points = 7}", "timeoutSec": 30, "retryPolicy": {"maxRetries": 5, "backoffMS": 5000, "backoffMultiplier": 3}}]}'
select kind, name, action, version, problem from rea.import_definitions(:'rule', dry_run => true);
select kind, name, action, version from rea.import_definitions(:'rule');
select kind, name, action, version from rea.import_definitions(jsonb_build_array(:'rule'::jsonb));
select kind, name, action, version from rea.import_definitions(jsonb_build_object('rules', jsonb_build_array(:'rule'::jsonb)));
select jsonb_pretty(w.definition) from rea.workflows w where w.workflow_name = 'rulePaid';
call regress.run('rule.order.paid', 'RP-1');
select status, steps from regress.outcome('RP-1');
-- Mistakes are told with their places.
select kind, name, action, problem from rea.import_definitions('[{"ruleId": "r", "matchEventTyp": "x", "nodes": [{"nodeId": "a", "script": "return 1", "timeoutSec": 0, "retryPolicy": {"maxRetry": 1}}]}, 7]', true);
