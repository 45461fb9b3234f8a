-- Routing: in each group the first matching route starts its workflow; what matches nothing is kept as UNROUTED.
create function regress.flow(name text) returns integer language sql as $$
    select regress.define(format('{"workflowName": "%s", "actions": [{"name": "call", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 5000, "body": null}}]}', name))
$$;
-- What an event started, by group.
create function regress.started(key text) returns table (route_group text, route text, version integer, workflow text, status text) language sql as $$
    select r.route_group, i.route_name, i.route_version, i.workflow_name, i.status
    from rea.instances i join rea.route r on r.route_name = i.route_name and r.version = i.route_version where i.biz_key = key order by 1
$$;
select n, regress.flow(n) from unnest(array['routeA', 'routeB', 'routeC']) n;

-- A workflow without triggerEvent starts by a route of its own.
select rea.define_route('exact', 'route.made', 'routeA');
select rea.define_route('exact', 'route.made', 'routeA') as same_again;
call regress.run('route.made', 'R-1');
select * from regress.started('R-1');
-- Lower priority first; only the first of a group.
select rea.define_route('first', 'route.made', 'routeB', priority => -1);
call regress.run('route.made', 'R-2');
select * from regress.started('R-2');
-- Every group gets its chance.
select rea.define_route('audit', 'route.made', 'routeC', 'audit');
call regress.run('route.made', 'R-3');
select * from regress.started('R-3');
-- A prefix matches everything below it, exact types come first.
select rea.define_route('prefix', 'route.*', 'routeC');
call regress.run('route.other', 'R-4');
select * from regress.started('R-4');
call regress.run('route.other.eu', 'R-5');
select * from regress.started('R-5');
call regress.run('route', 'R-6');
select count(*) as started from regress.started('R-6');
call regress.run('routes.made', 'R-7');
select count(*) as started from regress.started('R-7');
select rea.define_route('longer', 'route.other.*', 'routeA');
call regress.run('route.other.eu', 'R-8');
select * from regress.started('R-8');
-- A prefix is no pattern: neither _ nor % nor a case of letters is special.
select rea.define_route('special', 'r_%.*', 'routeA');
call regress.run('rxx.made', 'R-9');
call regress.run('r_%.made', 'R-10');
call regress.run('R_%.made', 'R-11');
select q.biz_key, q.status from unnest(array['R-9', 'R-10', 'R-11']) with ordinality k (key, n), rea.query_instance(k.key) q order by k.n;

-- match: an object that the payload must contain
select rea.define_route('wechat', 'match.contains', 'routeA', match => '{"channel": "wechat", "items": [{"sku": "cup"}]}');
call regress.run('match.contains', 'M-1', '{"channel": "wechat", "items": [{"sku": "pot"}, {"sku": "cup", "n": 2}], "x": 1}');
call regress.run('match.contains', 'M-2', '{"channel": "wechat", "items": []}');
call regress.run('match.contains', 'M-3', '{"channel": "Wechat", "items": [{"sku": "cup"}]}');
call regress.run('match.contains', 'M-4', '7');
-- match: a predicate over event and payload
select rea.define_route('large', 'match.path', 'routeA', match => '"$.payload.amount > 100 && $.event.attributes.channel == \"web\" && $.event.bizKey starts with \"M-\""');
call regress.run('match.path', 'M-5', '{"amount": 100.01}');
select rea.fire_event('match.path', 'M-6', '{"amount": 100.01}', attributes => '{"channel": "web"}') is not null as fired;
call regress.wait_until_still('M-6');
select rea.fire_event('match.path', 'M-7', '{"amount": 100}', attributes => '{"channel": "web"}') is not null as fired;
call regress.wait_until_still('M-7');
-- Null is no match: the member is missing, or of another type. It is not an error either.
select rea.fire_event('match.path', 'M-8', '{"amount": "much"}', attributes => '{"channel": "web"}') is not null as fired;
call regress.wait_until_still('M-8');
select rea.fire_event('match.path', 'M-9', '[]', attributes => '{"channel": "web"}') is not null as fired;
call regress.wait_until_still('M-9');
select q.biz_key, q.status, q.workflow_name, q.error from generate_series(1, 9) n, rea.query_instance('M-' || n) q;
-- A route that asks for more goes before one of the same priority that asks for nothing.
select rea.define_route('rest', 'match.path', 'routeB');
call regress.run('match.path', 'M-10');
select rea.fire_event('match.path', 'M-11', '{"amount": 101}', attributes => '{"channel": "web"}') is not null as fired;
call regress.wait_until_still('M-11');
select q.biz_key, q.workflow_name from unnest(array['M-10', 'M-11']) k, rea.query_instance(k) q;
-- A predicate that divides by zero matches nothing and stops nobody.
select rea.define_route('zero', 'match.zero', 'routeA', match => '"$.payload.a / $.payload.b > 1"');
call regress.run('match.zero', 'M-12', '{"a": 1, "b": 0}');
call regress.run('match.zero', 'M-13', '{"a": 4, "b": 2}');
select q.biz_key, q.status from unnest(array['M-12', 'M-13']) k, rea.query_instance(k) q;

-- UNROUTED: kept, shown, with the reason; not an error.
select e.biz_key, e.status, e.started, e.unrouted_reason from rea.events e where e.biz_key in ('M-12', 'M-13', 'R-6') order by 1;
-- A route defined later does not reach back.
select rea.define_route('late', 'route', 'routeA');
select q.biz_key, q.status from rea.query_instance('R-6') q;

-- Two routes that only chance could tell apart are refused.
call regress.refused($$ select rea.define_route('tied', 'route.made', 'routeC') $$);
call regress.refused($$ select rea.define_route('tied', 'match.path', 'routeC', match => '"$.payload.amount > 100 && $.event.attributes.channel == \"web\" && $.event.bizKey starts with \"M-\""') $$);
call regress.refused($$ select rea.define_route('tied', 'match.contains', 'routeC', match => '{"items": [{"sku": "cup"}], "channel": "wechat"}') $$);
call regress.refused($$ select regress.define('{"workflowName": "routeTied", "triggerEvent": "route.made", "actions": [{"name": "a", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 1}}]}') $$);
select count(*) as stored from rea.workflow where workflow_name = 'routeTied';
-- Another priority, group or match is another matter.
begin;
select rea.define_route('tied', 'route.made', 'routeC', priority => 1), rea.define_route('tied2', 'route.made', 'routeC', 'other'), rea.define_route('tied3', 'route.made', 'routeC', match => '{"a": 1}');
rollback;

-- Versions of routes; an instance keeps the one that chose it.
call regress.refused($$ select rea.define_route('first', 'route.made', 'routeC', priority => -1, expected_version => 0) $$);
select rea.define_route('first', 'route.made', 'routeC', priority => -1, expected_version => 1) as changed;
call regress.run('route.made', 'R-12');
select r.* from unnest(array['R-2', 'R-12']) k, regress.started(k) r where r.route = 'first';
-- drop_route, and back again
select rea.drop_route('first');
call regress.run('route.made', 'R-13');
select * from regress.started('R-13');
call regress.refused($$ select rea.drop_route('first') $$);
select rea.define_route('first', 'route.made', 'routeB', priority => -1, expected_version => 0) as back;
select version, active, workflow_name from rea.route where route_name = 'first' order by 1;

-- What triggerEvent makes follows the definition.
select regress.define('{"workflowName": "routeOwn", "triggerEvent": "own.made", "routeGroup": "own", "priority": 7, "match": {"a": 1}, "actions": [{"name": "a", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 1000}}]}');
select version, active, event_type, route_group, priority, match_contains, from_workflow from rea.route where route_name = 'routeOwn' order by 1;
select regress.define('{"workflowName": "routeOwn", "triggerEvent": "own.changed", "match": "$.payload.a == 1", "actions": [{"name": "a", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 1000}}]}');
select version, active, event_type, route_group, priority, match_contains, match_path, from_workflow from rea.route where route_name = 'routeOwn' order by 1;
call regress.refused($$ select rea.define_route('routeOwn', 'own.made', 'routeA') $$);
select regress.define('{"workflowName": "routeOwn", "actions": [{"name": "a", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 1000}}]}');
select version, active from rea.route where route_name = 'routeOwn' order by 1;

-- What define_route refuses
call regress.refused($$ select rea.define_route('bad', 'route.made', 'routeMissing') $$);
call regress.refused($$ select rea.define_route('', 'route.made', 'routeA') $$);
call regress.refused($$ select rea.define_route(null, 'route.made', 'routeA') $$);
call regress.refused($$ select rea.define_route('bad', null, 'routeA') $$);
call regress.refused($$ select rea.define_route('bad', 'route.made', null) $$);
call regress.refused($$ select rea.define_route('bad', 'route.made', 'routeA', null) $$);
call regress.refused($$ select rea.define_route('bad', 'route.made', 'routeA', priority => null) $$);
call regress.refused($$ select rea.define_route('bad', 'route.made', 'routeA', '') $$);
call regress.refused($$ select rea.define_route(repeat('x', 256), 'route.made', 'routeA') $$);
call regress.refused($$ select rea.define_route('bad', '*', 'routeA') $$);
call regress.refused($$ select rea.define_route('bad', 'route.*.made', 'routeA') $$);
call regress.refused($$ select rea.define_route('bad', 'route.made', 'routeA', match => '7') $$);
call regress.refused($$ select rea.define_route('bad', 'route.made', 'routeA', match => '"$.payload.x"') $$);
call regress.refused($$ select rea.define_route('bad', 'route.made', 'routeA', match => '"$.payload.x >"') $$);
call regress.refused($$ select rea.define_route('bad', 'route.made', 'routeA', match => '"$.instance.id == 1"') $$);
call regress.refused($$ select rea.drop_route('routeMissing') $$);
call regress.refused($$ select rea.drop_route(null) $$);
