-- reroute_events: past events meet the rules in force; a dry run shows what a real run then does.
create function regress.rerouted(filter jsonb, dry_run boolean default true, max_events integer default 1000)
returns table (event_id text, route_group text, old text, new text, changed boolean, action text, left_over bigint) language sql as $$
    select r.event_id, r.route_group, concat_ws(' ', r.old_workflow, r.old_version, r.old_route, r.old_status), concat_ws(' ', r.new_workflow, r.new_version, r.new_route),
           r.changed, r.action, r.left_over
    from rea.reroute_events(filter, dry_run, max_events => max_events, reason => 'new rules') with ordinality r order by r.ordinality
$$;
create procedure regress.wait_until_routed() language plpgsql as $$ begin call regress.wait_for('not exists (select from rea.work_inbox)'); end $$;
select rea.fire_event('reroute.a', 'RT-' || n, jsonb_build_object('n', n), 'RT-' || n, 'shop') from generate_series(1, 4) n;
call regress.wait_until_routed();
select * from regress.rerouted('{"eventType": "reroute.*", "status": "UNROUTED"}');

-- A rule appears: the dry run says what it would choose and changes nothing; the real run does that, bounded.
select regress.define('{"workflowName": "rerouteOne", "actions": [{"name": "call", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}}]}') as version;
select rea.define_route('rerouteOne', 'reroute.a', 'rerouteOne', match => '"$.payload.n > 1"');
select * from regress.rerouted('{"eventType": "reroute.a"}', max_events => 2);
select count(*) as reroutes from rea.reroutes r where r.event_type = 'reroute.a';
select * from regress.rerouted('{"eventType": "reroute.a"}', false, 2);
call regress.wait_until_routed();
select * from regress.rerouted('{"eventType": "reroute.a", "status": "UNROUTED"}', false);
call regress.wait_until_still('RT-4');
select e.event_id, e.status, e.started from rea.events e where e.event_type = 'reroute.a' order by 1;
select r.event_id, r.route_group, r.action, r.workflow_name, r.workflow_version, r.new_instance_id is not null as started, r.rerouted_by, r.reason from rea.reroutes r where r.event_type = 'reroute.a' order by 1;
select rea.operation('RT-4', 'shop') ->> 'status' as status;
select t.kind, t.subject, t.status, regexp_replace(t.detail, 'announced.*', 'announced') as detail from rea.timeline('RT-4') t where t.kind in ('event', 'unrouted', 'reroute', 'route');

-- What has ended is left; a group that is new starts, and the others do not start again.
call regress.wait_until_still('RT-3');
select regress.define('{"workflowName": "rerouteOne", "actions": [{"name": "other", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}}]}') as version;
select rea.define_route('rerouteTwo', 'reroute.*', 'rerouteOne', 'audit', match => '{"n": 3}');
select * from regress.rerouted('{"bizKey": "RT-3"}');
select * from regress.rerouted('{"bizKey": "RT-3"}', false);
call regress.wait_until_routed();
call regress.wait_until_still('RT-3');
select i.route_name, i.workflow_version, i.status from rea.instances i where i.biz_key = 'RT-3' order by i.instance_id;
select * from regress.rerouted('{"eventIds": ["RT-3", "RT-9"]}');

-- What runs is cancelled and replaced by what the rules choose; or only cancelled, when they choose nothing.
select regress.define('{"workflowName": "rerouteSlow", "triggerEvent": "reroute.slow", "retryPolicy": {"backoffMs": 300000}, "actions": [
    {"name": "call", "type": "http", "config": {"url": "http://receiver/first/9/503/echo", "timeoutMs": 5000}}]}') as version;
select rea.fire_event('reroute.slow', 'RS-' || n, '{}', 'RS-' || n, 'shop') from generate_series(1, 2) n;
call regress.wait_for($$ count(*) = 2 and bool_and(i.phase = 'RETRY_WAIT') from rea.instances i where i.workflow_name = 'rerouteSlow' $$);
select regress.define('{"workflowName": "rerouteSlow", "triggerEvent": "reroute.slow", "match": {}, "actions": [
    {"name": "call", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}}]}') as version;
select * from regress.rerouted('{"workflowName": "rerouteSlow", "status": "PENDING"}');
-- A disabled workflow stops nothing.
select rea.disable_workflow('rerouteSlow');
select * from regress.rerouted('{"workflowName": "rerouteSlow"}');
select rea.enable_workflow('rerouteSlow');
select * from regress.rerouted('{"bizKey": "RS-1"}', false);
call regress.wait_until_routed();
call regress.wait_for($$ bool_and(i.status in ('CANCELLED', 'SUCCESS')) from rea.instances i where i.biz_key = 'RS-1' $$);
select i.workflow_version, i.status from rea.instances i where i.biz_key = 'RS-1' order by i.instance_id;
select rea.operation('RS-1', 'shop') ->> 'status' as status;
select r.action, r.old_instance_id is not null as old, r.new_instance_id is not null as new from rea.reroutes r where r.biz_key = 'RS-1';
select t.kind, t.subject, t.status, t.detail from rea.timeline('RS-1') t where t.kind in ('reroute', 'route');
select rea.drop_route('rerouteSlow');
select * from regress.rerouted('{"bizKey": "RS-2"}', false);
call regress.wait_for($$ bool_and(i.status = 'CANCELLED') from rea.instances i where i.biz_key = 'RS-2' $$);
select * from regress.rerouted('{"eventType": "reroute.slow"}');

-- The filter is checked.
call regress.refused($$ select * from rea.reroute_events('{"eventTyp": "x", "eventIds": [1]}') $$);
call regress.refused($$ select * from rea.reroute_events('{"status": "UNROUTE"}') $$);
call regress.refused($$ select * from rea.reroute_events('{"from": "soon"}') $$);
call regress.refused($$ select * from rea.reroute_events('[]') $$);
call regress.refused($$ select * from rea.reroute_events(null) $$);
select rea.drop_route('rerouteOne'), rea.drop_route('rerouteTwo');
