-- query_instance: where a business key stands and why it does not move.
select regress.define('{"workflowName": "lookFlow", "triggerEvent": "look.made", "retryPolicy": {"maxRetries": 1, "backoffMs": 3600000, "maxBackoffMs": 3600000, "jitter": 0}, "actions": [
    {"name": "first", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}},
    {"name": "second", "type": "http", "onError": "pause", "config": {"url": "${payload.url}", "timeoutMs": 4500}},
    {"name": "third", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}}]}');
create function regress.look(key text) returns table (status text, phase text, action text, index integer, retries integer, retry_in interval, waiting_for text, code text, steps jsonb, ended boolean) language sql as $$
    select q.status, q.phase, q.current_action, q.action_index, q.retry_count, date_trunc('hour', q.next_retry_time - q.update_time + interval '1 minute'),
           regexp_replace(regexp_replace(q.waiting_for, 'for [\d.]+ s', 'for N s'), 'at \d{4}-\d\d-\d\d \S+', 'at TIME'), q.error_code, q.steps, q.end_time is not null
    from rea.query_instance(key) q order by q.create_time
$$;
select rea.fire_event('look.made', v.key, jsonb_build_object('url', r.url || v.path)) is not null as fired
from regress.receiver r, (values ('L-done', '/echo'), ('L-retry', '/status/503'), ('L-paused', '/status/400'), ('L-running', '/slow/2500')) v (key, path);
call regress.wait_for($$ exists (select from rea.instances i where i.biz_key = 'L-running' and i.status = 'RUNNING' and i.current_action = 'second') $$);
select * from regress.look('L-running');
call regress.wait_until_still('L-done');
call regress.wait_until_still('L-paused');
call regress.wait_for($$ exists (select from rea.instances i where i.biz_key = 'L-retry' and i.phase = 'RETRY_WAIT') $$);
select k.key, l.* from unnest(array['L-done', 'L-retry', 'L-paused']) with ordinality k (key, n), regress.look(k.key) l order by k.n;
call regress.wait_until_still('L-running');
select * from regress.look('L-running');
-- A row per instance of each event of the key; ids and times are there
select rea.fire_event('look.made', 'L-done', jsonb_build_object('url', url || '/echo')) is not null as second_event from regress.receiver;
call regress.wait_until_still('L-done');
select rea.fire_event('unlooked', 'L-done', event_id => 'U-1', source => 'shop') is not null as unrouted_event;
call regress.wait_until_still('L-done');
select q.biz_key, q.event_type, q.source, q.workflow_name, q.workflow_version, q.status, q.phase, q.instance_id is not null as has_instance,
       q.event_id = 'U-1' as is_u_1, q.create_time <= q.update_time as in_time, q.end_time >= q.create_time as ended_later
from rea.query_instance('L-done') q order by q.create_time;
-- An event of the own open transaction is ACCEPTED.
begin;
select rea.fire_event('look.made', 'L-accepted', '{"url": "http://stock.internal/"}') is not null as fired;
select status, phase, waiting_for, steps from regress.look('L-accepted');
rollback;
select count(*) as of_a_key_never_seen from rea.query_instance('L-never');
select count(*) as of_null from rea.query_instance(null);
select count(*) as of_empty from rea.query_instance('');
