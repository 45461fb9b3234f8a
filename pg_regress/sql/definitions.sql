-- export_definitions, import_definitions: all rules as one document that can be kept in version control.
-- Other tests leave rules behind: this one looks at its own only.
create function regress.exported() returns jsonb language sql as $$
    select jsonb_build_object(
        'workflows', (select jsonb_agg(w) from jsonb_array_elements(d -> 'workflows') w where w ->> 'workflowName' like 'bundle%'),
        'disabled', (select coalesce(jsonb_agg(w), '[]') from jsonb_array_elements(d -> 'disabled') w where w #>> '{}' like 'bundle%'),
        'routes', (select coalesce(jsonb_agg(r), '[]') from jsonb_array_elements(d -> 'routes') r where r ->> 'routeName' like 'bundle%'))
    from rea.export_definitions() d
$$;
create function regress.bundle_flow(name text, path text, trigger text default null) returns jsonb language sql as $$
    select jsonb_build_object('workflowName', name, 'actions', jsonb_build_array(jsonb_build_object('name', 'call', 'type', 'http',
               'config', jsonb_build_object('url', 'http://127.0.0.1:9/' || path, 'timeoutMs', 1000))))
        || case when trigger is not null then jsonb_build_object('triggerEvent', trigger) else '{}' end
$$;
select rea.define_workflow(regress.bundle_flow('bundleB', 'b', 'bundle.b')), rea.define_workflow(regress.bundle_flow('bundleA', 'a'));
select rea.define_workflow(regress.bundle_flow('bundleA', 'a2'));
select rea.define_route('bundleSecond', 'bundle.*', 'bundleA', 'audit', 2, '{"none": null}'), rea.define_route('bundleFirst', 'bundle.*', 'bundleA', 'audit', 1, '"$.payload.qty > 1.50"');
select rea.define_route('bundleGone', 'bundle.x', 'bundleA');
select rea.drop_route('bundleGone');
select rea.disable_workflow('bundleB');
select jsonb_pretty(regress.exported());

-- The round trip changes nothing, and what is exported twice is the same text.
select kind, name, action, version, problem from rea.import_definitions(regress.exported());
select regress.exported()::text = regress.exported()::text as same;
select bool_and(action = 'unchanged') as all_unchanged from rea.import_definitions(rea.export_definitions());
select r.route_name, r.version, r.active from rea.routes r where r.route_name like 'bundle%' order by 1, 2;

-- dry_run tells and changes nothing; then the same document makes it so, once.
select regress.exported() as document \gset
select jsonb_set(jsonb_set(:'document', '{workflows,0,actions,0,config,timeoutMs}', '7'), '{disabled}', '[]') || jsonb_build_object('routes',
    '[{"routeName": "bundleThird", "eventType": "bundle.z", "workflowName": "bundleNew"}]'::jsonb) as changed \gset
select jsonb_insert(:'changed', '{workflows,0}', regress.bundle_flow('bundleNew', 'n')) as changed \gset
select kind, name, action, version from rea.import_definitions(:'changed', dry_run => true);
select regress.exported() = :'document' as untouched;
select kind, name, action, version from rea.import_definitions(:'changed');
select kind, name, action, version from rea.import_definitions(:'changed');
select w.workflow_name, w.version, w.enabled from rea.workflows w where w.workflow_name like 'bundle%' and w.current order by 1;

-- Two routes that change places; two that cannot be told apart.
select kind, name, action, version from rea.import_definitions('{"routes": [
    {"routeName": "bundleFirst", "eventType": "bundle.*", "workflowName": "bundleA", "routeGroup": "audit", "priority": 5},
    {"routeName": "bundleSecond", "eventType": "bundle.*", "workflowName": "bundleA", "routeGroup": "audit", "priority": 6}]}');
select kind, name, action, version from rea.import_definitions('{"routes": [
    {"routeName": "bundleFirst", "eventType": "bundle.*", "workflowName": "bundleA", "routeGroup": "audit", "priority": 6},
    {"routeName": "bundleSecond", "eventType": "bundle.*", "workflowName": "bundleA", "routeGroup": "audit", "priority": 5}]}');
select regress.exported() as before \gset
call regress.refused($$ select * from rea.import_definitions('{"routes": [
    {"routeName": "bundleFirst", "eventType": "bundle.*", "workflowName": "bundleA", "routeGroup": "audit", "priority": 5}]}') $$);

-- All or nothing: what is refused is named, with a hint; nothing of the rest is done.
\set bad '{"workflows": [{"workflowName": "bundleBad", "actions": []}, {"workflowName": "bundleGood", "actions": [{"name": "a", "type": "http", "config": {"url": "http://127.0.0.1:9", "timeoutMs": 1}}]}], "rutes": [], "routes": [{"routeName": "bundleLost", "eventType": "x", "workflowName": "nobody"}, {"routeName": "bundleLost"}, {"priority": "high"}], "disabled": ["bundleGod"]}'
select kind, name, action, version, problem from rea.import_definitions(:'bad', true);
\set VERBOSITY terse
select * from rea.import_definitions(:'bad');
\set VERBOSITY default
select regress.exported() = :'before' as untouched;
call regress.refused($$ select * from rea.import_definitions('[3]') $$);
call regress.refused($$ select * from rea.import_definitions('{"workflowName": "x", "actions": []}') $$);
call regress.refused($$ select * from rea.import_definitions(null) $$);
select count(*) as nothing from rea.import_definitions('{}');

-- Schedules: what is the same is not defined anew and keeps who defined it.
select kind, name, action, problem from rea.import_definitions('{"schedules": [
    {"scheduleName": "bundleNightly", "cron": "30 2 1 1 *", "timezone": "Europe/Berlin", "eventType": "bundle.night", "payload": {"a": [1, null]}, "catchUp": "skip", "catchUpLimit": 5, "paused": true},
    {"scheduleName": "bundleDaily", "cron": "0 4 1 1 *", "eventType": "bundle.day"}]}');
select jsonb_agg(s) as schedules from jsonb_array_elements(rea.export_definitions() -> 'schedules') s where s ->> 'scheduleName' like 'bundle%' \gset
select jsonb_pretty(:'schedules');
select kind, name, action from rea.import_definitions(jsonb_build_object('schedules', :'schedules'::jsonb));
select kind, name, action, problem from rea.import_definitions('{"schedules": [{"scheduleName": "bundleNightly", "cron": "0 4 1 1 *", "eventType": "bundle.night"}, {"scheduleName": "bundleNever", "cron": "0 4 31 2 *", "eventType": "x"}, {"scheduleName": "bundleWrong", "cron": 5}]}', true);
select kind, name, action from rea.import_definitions('{"schedules": [{"scheduleName": "bundleNightly", "cron": "30 2 1 1 *", "eventType": "bundle.night"}]}');
select s.schedule_name, s.cron, s.timezone, s.paused, s.next_time is not null as fires from rea.schedules s where s.schedule_name like 'bundle%' order by 1;
select rea.drop_schedule('bundleNightly'), rea.drop_schedule('bundleDaily');

-- Scripts are exported line by line, and come before the workflows that name them; config values are what they are.
select kind, name, action, version, problem from rea.import_definitions('{"workflows": [{"workflowName": "bundleScripted", "actions": [{"name": "a", "type": "lua", "config": {"script": "bundlePrice"}}]}],
    "scripts": [{"scriptName": "bundlePrice", "source": "local x = 1\n\nreturn {x = x}\n"}], "config": {"bundleLimit": {"amount": 1.50}, "bundleNothing": null}}');
select e -> 'source' as source from jsonb_array_elements(rea.export_definitions() -> 'scripts') e where e ->> 'scriptName' = 'bundlePrice';
select k.key, k.value from jsonb_each(rea.export_definitions() -> 'config') k where k.key like 'bundle%' order by 1;
select kind, name, action, version from rea.import_definitions('{"scripts": [{"scriptName": "bundlePrice", "source": ["local x = 1", "", "return {x = x}", ""]}], "config": {"bundleLimit": {"amount": 1.5}}}');
select kind, name, action, version, problem from rea.import_definitions('{"scripts": [{"scriptName": "bundlePrice", "source": "return 2"}, {"scriptName": "bundleBroken", "source": "return ("}], "config": {"bundleLimit": 2}}', true);

-- An administrator without any other right can do it, and his name is on it.
create role regress_keeper;
select rea.grant_admin('regress_keeper');
set session authorization regress_keeper;
select action from rea.import_definitions('{"routes": [{"routeName": "bundleKept", "eventType": "bundle.kept", "workflowName": "bundleA"}]}');
select rea.export_definitions() is not null as exported;
reset session authorization;
select r.defined_by from rea.routes r where r.route_name = 'bundleKept';
drop owned by regress_keeper;
drop role regress_keeper;
select rea.drop_route(r.route_name) from rea.routes r where r.route_name like 'bundle%' and r.active and not r.from_workflow;
