-- match_event: what an event would start, and why; nothing is fired.
select regress.define('{"workflowName": "explainAny", "triggerEvent": "explain.*", "routeGroup": "audit", "actions": [{"name": "a", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 1000}}]}'),
       regress.define('{"workflowName": "explainVip", "triggerEvent": "explain.made", "match": {"vip": true}, "actions": [{"name": "a", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 1000}}]}'),
       regress.define('{"workflowName": "explainLarge", "triggerEvent": "explain.made", "priority": 1, "match": "$.payload.amount > 100", "actions": [{"name": "a", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 1000}}]}'),
       regress.define('{"workflowName": "explainWeb", "triggerEvent": "explain.made", "priority": 2, "match": "$.event.attributes.channel == \"web\"", "actions": [{"name": "a", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 1000}}]}'),
       regress.define('{"workflowName": "explainRest", "triggerEvent": "explain.made", "priority": 3, "actions": [{"name": "a", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 1000}}]}');
\pset format unaligned
select m.* from rea.match_event('explain.made', 'K') m;
select m.route_name, m.matched, m.chosen, m.why from rea.match_event('explain.made', 'K', '{"vip": true, "amount": 101}', '{"channel": "web"}') m;
select m.route_name, m.matched, m.chosen, m.why from rea.match_event('explain.made', 'K', '{"amount": "much"}', '{"channel": "shop"}') m;
select m.route_name, m.matched, m.chosen, m.why from rea.match_event('explain.other', 'K') m;
select count(*) as routes from rea.match_event('explained', 'K') m;
-- It says beforehand what firing does.
select rea.fire_event('explain.made', 'X-1', '{"amount": 101, "vip": false}') is not null as fired;
call regress.wait_until_still('X-1');
select (select array_agg(m.route_name order by 1) from rea.match_event('explain.made', 'X-1', '{"amount": 101, "vip": false}') m where m.chosen)
     = (select array_agg(i.route_name order by 1) from rea.instances i where i.biz_key = 'X-1') as as_foretold;
select count(*) as events from rea.work_event where event_type like 'explain%';
-- Null arguments
select count(*) as routes from rea.match_event(null, 'K') m;
select count(*) as routes from rea.match_event('explain.made', null) m;
select m.route_name, m.matched, m.why from rea.match_event('explain.made', 'K', null, null) m;
select m.route_name, m.matched, m.why from rea.match_event('explain.made', 'K', 'null') m;
