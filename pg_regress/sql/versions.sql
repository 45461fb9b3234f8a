-- Versions: a definition is stored once, is immutable, and an instance keeps the one it started with.
select regress.define('{"workflowName": "versionFlow", "triggerEvent": "version.made", "actions": [
    {"name": "call", "type": "http", "config": {"url": "http://receiver/slow/400", "timeoutMs": 5000, "body": "one"}, "output": {"sent": "${response.body.body}"}},
    {"name": "again", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 5000, "body": "one again"}, "output": {"sent": "${response.body.body}"}}]}') as first;
-- The same definition again is the same version, however it is written.
select regress.define('{"triggerEvent": "version.made", "workflowName": "versionFlow", "actions": [
    {"type": "http", "name": "call", "config": {"body": "one", "timeoutMs": 5e3, "url": "http://receiver/slow/400"}, "output": {"sent": "${response.body.body}"}},
    {"name": "again", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 5000.0, "body": "one again"}, "output": {"sent": "${response.body.body}"}}]}') as same;
select rea.fire_event('version.made', 'V-1') is not null as fired;
call regress.wait_for($$ exists (select from rea.instances i where i.biz_key = 'V-1') $$);
-- A new version while the first one runs
select regress.define('{"workflowName": "versionFlow", "triggerEvent": "version.made", "actions": [
    {"name": "renamed", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 5000, "body": "two"}, "output": {"sent": "${response.body.body}"}}]}') as second;
call regress.wait_until_still('V-1');
call regress.run('version.made', 'V-2');
select i.biz_key, i.workflow_version, i.status, i.context from rea.instances i where i.workflow_name = 'versionFlow' order by 1;
select w.workflow_name, w.current_version, w.enabled from rea.workflow w where w.workflow_name = 'versionFlow';
select v.version, v.defined_by, v.definition -> 'actions' -> 0 ->> 'name' as first_action from rea.workflow_version v where v.workflow_name = 'versionFlow' order by 1;
-- Going back to an earlier definition makes a new version: numbers only grow.
select regress.define('{"workflowName": "versionFlow", "triggerEvent": "version.made", "actions": [
    {"name": "call", "type": "http", "config": {"url": "http://receiver/slow/400", "timeoutMs": 5000, "body": "one"}, "output": {"sent": "${response.body.body}"}},
    {"name": "again", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 5000, "body": "one again"}, "output": {"sent": "${response.body.body}"}}]}') as third;

-- expected_version: whoever was slower is told.
create function regress.version_flow(body text) returns jsonb language sql as $$
    select jsonb_build_object('workflowName', 'versionExpected', 'triggerEvent', 'version.expected', 'actions', jsonb_build_array(jsonb_build_object(
        'name', 'call', 'type', 'http', 'config', jsonb_build_object('url', (select url from regress.receiver) || '/echo', 'timeoutMs', 5000, 'body', body))))
$$;
call regress.refused($$ select rea.define_workflow(regress.version_flow('a'), 1) $$);
select rea.define_workflow(regress.version_flow('a'), 0) as new_one;
call regress.refused($$ select rea.define_workflow(regress.version_flow('b'), 0) $$);
select rea.define_workflow(regress.version_flow('b'), 1) as next_one;
call regress.refused($$ select rea.define_workflow(regress.version_flow('c'), 1) $$);
select w.current_version from rea.workflow w where w.workflow_name = 'versionExpected';

-- A definition that is rolled back leaves no version behind.
begin;
select rea.define_workflow(regress.version_flow('d')) as undone;
rollback;
select w.current_version from rea.workflow w where w.workflow_name = 'versionExpected';

-- What is defined and fired in one transaction runs after its commit.
begin;
select rea.define_workflow(regress.version_flow('d')) as version;
select rea.fire_event('version.expected', 'V-5') is not null as fired;
commit;
call regress.wait_until_still('V-5');
select workflow, version, status from regress.outcome('V-5');

-- disable_workflow: its routes match nothing; enable_workflow: they match again. Nothing is caught up on.
select rea.disable_workflow('versionExpected');
select rea.disable_workflow('versionExpected') as twice;
call regress.run('version.expected', 'V-3');
select status, error from regress.outcome('V-3');
select m.route_name, m.matched, m.chosen, m.why from rea.match_event('version.expected', 'V') m;
select rea.enable_workflow('versionExpected');
call regress.run('version.expected', 'V-4');
select q.biz_key, q.status from unnest(array['V-3', 'V-4']) k, rea.query_instance(k) q;
-- Defining it again enables it, too.
select rea.disable_workflow('versionExpected');
select rea.define_workflow(regress.version_flow('b')) as same_version;
select w.enabled from rea.workflow w where w.workflow_name = 'versionExpected';
select rea.disable_workflow('versionExpected');
select rea.define_workflow(regress.version_flow('e')) as new_version;
select w.enabled from rea.workflow w where w.workflow_name = 'versionExpected';
call regress.refused($$ select rea.disable_workflow('versionMissing') $$);
call regress.refused($$ select rea.enable_workflow('versionMissing') $$);
call regress.refused($$ select rea.disable_workflow(null) $$);
