-- Branches, items, cases and child workflows: what runs, what the operation and the timeline say about it.
\pset null ∅
\pset format unaligned
select regress.define('{"workflowName": "treeChild", "actions": [
    {"name": "inner", "type": "http", "config": {"url": "http://receiver/say/%7B%22points%22%3A7%7D", "timeoutMs": 5000},
     "output": {"points": "${response.body.points}"}}], "output": {"points": "${steps.inner.output.points}"}}');
select regress.define('{"workflowName": "treeFlow", "triggerEvent": "tree.start", "actions": [
    {"name": "first", "type": "http", "config": {"url": "http://receiver/say/1", "timeoutMs": 5000}, "output": {"one": "${response.body}"}},
    {"name": "fan", "type": "parallel", "branches": {
        "a": [{"name": "grant", "type": "http", "config": {"url": "http://receiver/say/2", "timeoutMs": 5000}, "output": {"two": "${response.body}"}},
              {"name": "each", "type": "foreach", "config": {"items": "${payload.items}", "maxConcurrency": 1, "actions": [
                  {"name": "pack", "type": "http", "config": {"url": "http://receiver/say/${item}", "timeoutMs": 5000},
                   "output": {"said": "${response.body}", "index": "${index}"}}]},
               "output": {"said": "${response.body[*].steps.pack.output.said}"}}],
        "bb": [{"name": "tell", "type": "emit", "config": {"eventType": "tree.told"}}]}},
    {"name": "choose", "type": "switch", "config": {
        "cases": [{"when": "$.payload.vip == true", "actions": [{"name": "gift", "type": "emit", "config": {"eventType": "tree.gift"}}]}],
        "default": [{"name": "plain", "type": "emit", "config": {"eventType": "tree.plain"}}]}},
    {"name": "call", "type": "workflow", "config": {"workflowName": "treeChild", "payload": {"n": 1}}, "output": {"points": "${response.body.points}"}}],
    "output": {"two": "${steps.grant.output.two}", "said": "${steps.each.output.said}", "points": "${steps.call.output.points}"}}');
select regress.define('{"workflowName": "treeTold", "triggerEvent": "tree.told", "routeGroup": "told", "actions": [
    {"name": "note", "type": "http", "config": {"url": "http://receiver/say/noted", "timeoutMs": 5000}}]}');
call regress.run('tree.start', 'tree-1', '{"items": ["x", "y"], "vip": true}');
call regress.wait_for('count(*) = 1 from rea.instances i where i.workflow_name = ''treeTold'' and i.end_time is not null');
call regress.wait_for('count(*) = 0 from rea.events e where e.biz_key = ''tree-1'' and e.status = ''ACCEPTED''');
-- One row for the order, and one for each event that something else follows from or that nothing follows from.
select q.event_type, q.workflow_name, q.status, q.steps from rea.query_instance('tree-1') q order by q.create_time, q.workflow_name nulls last;
select o - 'operationId' as operation from rea.work_event e cross join rea.operation(e.event_id) o where e.biz_key = 'tree-1' and e.event_type = 'tree.start';
select s.* from rea.work_event e cross join lateral regress.brief(e.event_id) s where e.biz_key = 'tree-1' and e.event_type = 'tree.start';
-- A branch and a child workflow have stories and operations of their own.
select s.kind, s.subject, s.status from rea.instances i cross join lateral regress.brief(i.instance_id::text) s
where i.biz_key = 'tree-1' and i.branch = 'a' and s.kind <> 'event';
select rea.operation(i.instance_id) - 'operationId' as operation from rea.instances i
where i.biz_key = 'tree-1' and (i.branch in ('a', '1') or i.workflow_name = 'treeChild') order by i.branch;
select o - 'operationId' as operation from rea.events e cross join rea.operation(e.event_id) o where e.biz_key = 'tree-1' and e.event_type = 'rea.workflow';
select e.event_type, e.status, e.started from rea.events e where e.biz_key = 'tree-1' order by e.event_type;
select i.parent_action, i.branch, i.item_index, i.detached, i.current_action, i.status
from rea.instances i where i.biz_key = 'tree-1' and i.parent_instance_id is not null order by i.instance_id;
-- The other case: what was not chosen is SKIPPED.
call regress.run('tree.start', 'tree-2', '{"items": [], "vip": false}');
select q.status, q.steps from rea.query_instance('tree-2') q where q.workflow_name = 'treeFlow';

-- While it runs: the steps that run, and why it does not move
select regress.define('{"workflowName": "treeSlow", "triggerEvent": "tree.slow", "actions": [
    {"name": "fan", "type": "parallel", "branches": {
        "a": [{"name": "slow", "type": "http", "config": {"url": "http://receiver/slow/3000", "timeoutMs": 5000}}],
        "bb": [{"name": "nested", "type": "parallel", "branches": {
                  "c": [{"name": "again", "type": "http", "config": {"url": "http://receiver/first/1/503/say/ok", "timeoutMs": 5000},
                         "retryPolicy": {"schedule": [3]}}]}}],
        "ccc": [{"name": "quick", "type": "emit", "config": {"eventType": "tree.quick"}}]}}]}');
select rea.fire_event('tree.slow', 'tree-3', event_id => 'tree-3') is not null as fired;
call regress.wait_for('rea.operation(''tree-3'') -> ''steps'' @> ''{"slow": "RUNNING", "again": "RETRY_WAIT", "quick": "SUCCESS"}''');
select w from regress.words('tree-3') w where w like '%branches%';
select o ->> 'status' as status, o -> 'steps' as steps, (o ->> 'retryAfterSeconds')::integer between 1 and 3 as retry_after from rea.operation('tree-3') o;
select q.phase, q.current_action from rea.query_instance('tree-3') q where q.workflow_name = 'treeSlow';
call regress.wait_for('rea.operation(''tree-3'') ->> ''status'' = ''SUCCEEDED''');

-- A failed branch: the parent tells of it, alone
select regress.define('{"workflowName": "treeFails", "triggerEvent": "tree.fails", "actions": [
    {"name": "fan", "type": "parallel", "branches": {
        "a": [{"name": "refused", "type": "http", "config": {"url": "http://receiver/first/1/400/say/ok", "timeoutMs": 5000}}],
        "bb": [{"name": "other", "type": "http", "config": {"url": "http://receiver/slow/300", "timeoutMs": 5000}},
               {"name": "another", "type": "emit", "config": {"eventType": "tree.another"}}]}}]}');
select rea.fire_event('tree.fails', 'tree-4', event_id => 'tree-4') is not null as fired;
call regress.wait_for('rea.operation(''tree-4'') ->> ''status'' = ''FAILED''');
select rea.operation('tree-4') - 'operationId' as operation;
select d.workflow_name, d.action_name, d.error_code, d.error from rea.dead_letters d where d.biz_key = 'tree-4';
-- It is retried as a whole: the failed branch goes on, the other is done.
call regress.refused_of('select rea.retry_instance(%L)', 'select i.instance_id from rea.instances i where i.biz_key = ''tree-4'' and i.branch = ''a''');
select rea.retry_instance(d.instance_id) from rea.dead_letters d where d.biz_key = 'tree-4';
call regress.wait_for('rea.operation(''tree-4'') ->> ''status'' = ''SUCCEEDED''');
select s.* from regress.brief('tree-4') s where s.kind <> 'event';

-- onBranchFailure cancel: the others end between two actions; join any: the first success is enough
select regress.define('{"workflowName": "treeCancels", "triggerEvent": "tree.cancels", "actions": [
    {"name": "fan", "type": "parallel", "onBranchFailure": "cancel", "branches": {
        "a": [{"name": "refused", "type": "http", "config": {"url": "http://receiver/status/400", "timeoutMs": 5000}}],
        "bb": [{"name": "long", "type": "wait", "config": {"durationSeconds": 60}}]}}]}');
select rea.fire_event('tree.cancels', 'tree-5', event_id => 'tree-5') is not null as fired;
call regress.wait_for('rea.operation(''tree-5'') ->> ''status'' = ''FAILED''');
select rea.operation('tree-5') - 'operationId' as operation;
select regress.define('{"workflowName": "treeAny", "triggerEvent": "tree.any", "actions": [
    {"name": "fan", "type": "parallel", "join": "any", "branches": {
        "a": [{"name": "refused", "type": "http", "config": {"url": "http://receiver/status/400", "timeoutMs": 5000}}],
        "bb": [{"name": "good", "type": "http", "config": {"url": "http://receiver/slow/300", "timeoutMs": 5000}}],
        "ccc": [{"name": "long", "type": "wait", "config": {"durationSeconds": 60}}]}}]}');
select rea.fire_event('tree.any', 'tree-6', event_id => 'tree-6') is not null as fired;
call regress.wait_for('rea.operation(''tree-6'') ->> ''status'' = ''SUCCEEDED''');
call regress.wait_for('count(*) = 0 from rea.instances i where i.biz_key = ''tree-6'' and i.end_time is null');
select rea.operation('tree-6') -> 'steps' as steps;

-- Items that are no array; a case that nothing matches
select regress.define('{"workflowName": "treeItems", "triggerEvent": "tree.items", "actions": [
    {"name": "each", "type": "foreach", "config": {"items": "${payload.items}", "actions": [{"name": "act", "type": "emit", "config": {"eventType": "tree.act"}}]}},
    {"name": "choose", "type": "switch", "config": {"cases": [{"when": "$.payload.n == 1", "actions": [{"name": "one", "type": "emit", "config": {"eventType": "tree.one"}}]}]}}]}');
call regress.run('tree.items', 'tree-7', '{"items": {"a": 1}}');
call regress.run('tree.items', 'tree-8', '{"items": [1, 2, 3], "n": 2}');
select k, o.status, o.code, o.error, o.steps from unnest(array['tree-7', 'tree-8']) k cross join lateral regress.outcome(k) o where o.workflow is not null;

-- Child workflows: a failure is the parent's; one that nobody waits for stands by itself
select regress.define('{"workflowName": "treeBad", "actions": [
    {"name": "refused", "type": "http", "config": {"url": "http://receiver/status/400", "timeoutMs": 5000}}]}');
select regress.define('{"workflowName": "treeWaits", "triggerEvent": "tree.waits", "actions": [{"name": "call", "type": "workflow", "config": {"workflowName": "treeBad"}}]}');
select regress.define('{"workflowName": "treeLets", "triggerEvent": "tree.lets", "actions": [{"name": "call", "type": "workflow", "config": {"workflowName": "treeBad", "wait": false}}]}');
call regress.run('tree.waits', 'tree-9');
select o.* from regress.outcome('tree-9') o;
call regress.run('tree.lets', 'tree-10');
call regress.wait_for('count(*) = 1 from rea.dead_letters d where d.biz_key = ''tree-10''');
select o.* from regress.outcome('tree-10') o;
select d.biz_key, d.workflow_name, d.action_name from rea.dead_letters d where d.biz_key in ('tree-9', 'tree-10') order by d.biz_key;
select s.kind, s.subject, s.status, s.detail from regress.brief('tree-10') s where s.kind <> 'event';
