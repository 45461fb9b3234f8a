-- timeline: the whole story of a business key, an event or an instance in one query, in order.
create function regress.story(what text) returns table (kind text, subject text, status text, detail text) language sql as $$
    select t.kind, t.subject, t.status, regexp_replace(regress.hide_receiver(regexp_replace(regexp_replace(t.detail, ', announced \S+ \S+', ''), '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', 'UUID', 'g')),
                                                      'at \d{4}-\d\d-\d\d \S+', 'at TIME', 'g')
    from rea.timeline(what) with ordinality t order by t.ordinality
$$;
select regress.define('{"workflowName": "tellFlow", "triggerEvent": "tell.made", "retryPolicy": {"maxRetries": 1, "backoffMs": 10}, "actions": [
    {"name": "skipped", "type": "http", "when": "1 == 2", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}},
    {"name": "shaky", "type": "http", "config": {"url": "http://receiver/first/1/503/say/ok", "timeoutMs": 5000}},
    {"name": "broken", "type": "http", "config": {"url": "http://receiver/first/2/503/say/ok", "timeoutMs": 5000}}]}') as version;
select rea.fire_event('tell.made', 'T-1', event_id => 'T-1', source => 'shop');
call regress.wait_until_still('T-1');
select rea.retry_instance(i.instance_id) from rea.instances i where i.biz_key = 'T-1';
call regress.wait_until_still('T-1');
\pset format unaligned
select * from regress.story('T-1');
-- By event id, uid and instance id it is the same story; times never go back inside an instance.
select e.event_uid as uid, i.instance_id as instance from rea.work_event e join rea.work_instance i using (event_uid) where e.biz_key = 'T-1' \gset
select count(*) as rows, (select count(*) from rea.timeline(:'uid')) as by_uid, (select count(*) from rea.timeline(:'instance')) as by_instance from rea.timeline('T-1');
select count(*) as rows_of_instance, bool_and(t.at >= t.before) as in_order from (select t.at, lag(t.at) over () as before from rea.timeline('T-1') t) t where t.before is not null;
select bool_and(t.cost_ms >= 0) as costs, count(t.cost_ms) as attempts_with_cost from rea.timeline('T-1') t where t.kind = 'attempt';
-- An unrouted event, and nothing at all
call regress.run('untold', 'T-2');
select * from regress.story('T-2');
select count(*) as nothing from rea.timeline('T-never');
select count(*) as null_argument from rea.timeline(null);
