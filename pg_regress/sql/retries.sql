-- Retries: what is worth another try is tried again, as often as the policy says; then the instance is DEAD and a person retries it.
create function regress.attempts(key text) returns table (attempt integer, action text, status text, code text, response text, error text, retry_planned boolean) language sql as $$
    select l.attempt_no, l.action_name, l.status, l.error_code, left(l.response_summary, 3), regress.hide_receiver(l.error_msg), l.next_retry_time is not null
    from rea.work_action_log l join rea.work_instance i using (instance_id) where i.biz_key = key order by l.log_id
$$;
-- Tries a path with a policy; the event's type and key are the same word.
create procedure regress.try(key text, path text, policy jsonb, more jsonb default '{}') language plpgsql as $$
begin
    perform rea.define_workflow(jsonb_build_object('workflowName', key, 'triggerEvent', key, 'retryPolicy', '{"backoffMs": 10, "jitter": 0}' || policy, 'actions', jsonb_build_array(jsonb_build_object(
        'name', 'call', 'type', 'http', 'output', '{"seen": "${response.body.seen ?? null}"}'::jsonb, 'config', '{"timeoutMs": 5000}' || more || jsonb_build_object('url', (select url from regress.receiver) || path)))));
    call regress.run(key, key);
end
$$;

-- Two failures, then success: three requests, under one idempotency key.
call regress.try('retryWell', '/first/2/503/echo', '{"maxRetries": 5}');
select status, retries, steps from regress.outcome('retryWell');
select * from regress.attempts('retryWell');
select i.context -> 'call' -> 'output' as third_request_of_the_key from rea.instances i where i.biz_key = 'retryWell';
select count(*) as dead_letters from rea.dead_letters where biz_key = 'retryWell';
-- n retries are n + 1 attempts; then DEAD, with a dead letter.
call regress.try('retryDead', '/first/4/503/echo', '{"maxRetries": 2}');
select status, action, retries, code, error, steps from regress.outcome('retryDead');
select * from regress.attempts('retryDead');
select d.workflow_name, d.workflow_version, d.status, d.action_name, d.retry_count, d.error_code, d.error from rea.dead_letters d where d.biz_key = 'retryDead';
-- maxRetries 0: one attempt
call regress.try('retryNone', '/first/1/503/echo', '{"maxRetries": 0}');
select status, retries, code from regress.outcome('retryNone');
select count(*) as attempts from regress.attempts('retryNone');
-- retry_instance: again from the failed action, with a full set of retries, the same key, and attempt numbers that go on.
select rea.retry_instance(i.instance_id) as status from rea.instances i where i.biz_key = 'retryDead';
call regress.wait_until_still('retryDead');
select status, retries, code, error from regress.outcome('retryDead');
select * from regress.attempts('retryDead');
select i.context -> 'call' -> 'output' as fifth_request_of_the_key from rea.instances i where i.biz_key = 'retryDead';
select count(*) as dead_letters from rea.dead_letters where biz_key = 'retryDead';
select l.old_status, l.new_status, l.cause from rea.work_instance_log l join rea.work_instance i using (instance_id) where i.biz_key = 'retryDead' order by l.log_id;
-- A retry that fails again is a dead letter again.
call regress.try('retryAgain', '/status/503', '{"maxRetries": 1}');
select rea.retry_instance(i.instance_id) as status from rea.instances i where i.biz_key = 'retryAgain';
call regress.wait_until_still('retryAgain');
select status, retries from regress.outcome('retryAgain');
select count(*) as attempts, max(attempt) as last_number from regress.attempts('retryAgain');
select count(*) as dead_letters from rea.dead_letters where biz_key = 'retryAgain';
-- Whoever rolls back has retried nothing.
begin;
select rea.retry_instance(i.instance_id) as status from rea.instances i where i.biz_key = 'retryAgain';
rollback;
select status from regress.outcome('retryAgain');
-- A permanent error is not retried by itself: FAILED at once, a dead letter too; a person may.
call regress.try('retryPermanent', '/first/1/400/echo', '{"maxRetries": 5}');
select status, retries, code, error from regress.outcome('retryPermanent');
select d.status, d.error_code from rea.dead_letters d where d.biz_key = 'retryPermanent';
select rea.retry_instance(i.instance_id) as status from rea.instances i where i.biz_key = 'retryPermanent';
call regress.wait_until_still('retryPermanent');
select status from regress.outcome('retryPermanent');
-- Which answers are worth a retry (language, section 3)
do $$
declare
    answer integer;
begin
    foreach answer in array array[201, 301, 400, 401, 404, 408, 409, 410, 422, 425, 429, 500, 501, 502, 503, 504, 505] loop
        call regress.try('retryStatus' || answer, '/status/' || answer, '{"maxRetries": 1}', '{"body": null}');
    end loop;
end
$$;
select replace(o.workflow, 'retryStatus', '') as answer, o.status, o.retries, o.code
from rea.work_event e, regress.outcome(e.biz_key) o where e.biz_key like 'retryStatus%' order by 1;
-- A success of another kind, and retryOn and neverRetryOn
call regress.try('retrySuccess', '/status/404', '{"maxRetries": 1}', '{"success": ["2xx", 404], "body": null}');
call regress.try('retryOn', '/first/1/404/echo', '{"maxRetries": 1, "retryOn": [404]}');
call regress.try('retryNever', '/first/1/503/echo', '{"maxRetries": 1, "neverRetryOn": ["5xx"], "retryOn": [503]}');
select o.workflow, o.status, o.retries, o.code from unnest(array['retrySuccess', 'retryOn', 'retryNever']) k, regress.outcome(k) o;
-- Nobody listens; no answer in time
select rea.define_workflow('{"workflowName": "retryConnect", "triggerEvent": "retryConnect", "retryPolicy": {"maxRetries": 1, "backoffMs": 10}, "actions": [{"name": "call", "type": "http", "config": {"url": "http://127.0.0.1:9/", "timeoutMs": 2000}}]}');
call regress.run('retryConnect', 'retryConnect');
select status, retries, code from regress.outcome('retryConnect');
call regress.try('retryTimeout', '/slow/2000', '{"maxRetries": 1}', '{"timeoutMs": 100}');
select status, retries, code from regress.outcome('retryTimeout');
select attempt, status, code from regress.attempts('retryTimeout');
-- The action's policy is merged over the workflow's, key by key; a schedule brings its own number.
select regress.define('{"workflowName": "retryMerged", "triggerEvent": "retryMerged", "retryPolicy": {"maxRetries": 3, "backoffMs": 10, "jitter": 0}, "actions": [
    {"name": "call", "type": "http", "retryPolicy": {"maxRetries": 1}, "config": {"url": "http://receiver/status/503", "timeoutMs": 5000}}]}');
select regress.define('{"workflowName": "retrySchedule", "triggerEvent": "retrySchedule", "retryPolicy": {"backoffMs": 10}, "actions": [
    {"name": "call", "type": "http", "retryPolicy": {"schedule": [0.01, 0.02, 0.03]}, "config": {"url": "http://receiver/status/503", "timeoutMs": 5000}}]}');
call regress.run('retryMerged', 'retryMerged');
call regress.run('retrySchedule', 'retrySchedule');
select o.workflow, o.status, o.retries from unnest(array['retryMerged', 'retrySchedule']) k, regress.outcome(k) o;
-- The delay before retry n is backoffMs × multiplier^(n-1), at most maxBackoffMs.
call regress.try('retryDelay', '/status/503', '{"maxRetries": 4, "backoffMs": 40, "backoffMultiplier": 3, "maxBackoffMs": 100}');
select l.attempt_no, l.next_retry_time - l.end_time between d.delay and d.delay + interval '1 s' as as_told
from rea.work_action_log l join rea.work_instance i using (instance_id)
join (values (1, interval '40 ms'), (2, '100 ms'), (3, '100 ms'), (4, '100 ms')) d (attempt, delay) on d.attempt = l.attempt_no
where i.biz_key = 'retryDelay' order by l.log_id;
-- A Retry-After that is longer wins; maxElapsedSeconds ends it before the next try would start too late.
call regress.try('retryAfter', '/after/2', '{"maxRetries": 1, "maxElapsedSeconds": 600}');
select l.attempt_no, l.next_retry_time - l.end_time >= interval '2 s' as as_asked from rea.work_action_log l join rea.work_instance i using (instance_id) where i.biz_key = 'retryAfter' order by l.log_id;
call regress.try('retryElapsed', '/status/503', '{"maxRetries": 5, "backoffMs": 60000, "maxElapsedSeconds": 10}');
select o.workflow, o.status, o.retries, o.code from unnest(array['retryAfter', 'retryElapsed']) k, regress.outcome(k) o;
-- While it waits for its retry it can be seen why, and retry_instance refuses: the engine is at it.
select regress.define('{"workflowName": "retryWaits", "triggerEvent": "retryWaits", "retryPolicy": {"maxRetries": 1, "backoffMs": 3600000, "maxBackoffMs": 3600000, "jitter": 0}, "actions": [
    {"name": "call", "type": "http", "config": {"url": "http://receiver/status/503", "timeoutMs": 5000}}]}');
select rea.fire_event('retryWaits', 'retryWaits') is not null as fired;
call regress.wait_for($$ exists (select from rea.instances i where i.biz_key = 'retryWaits' and i.phase = 'RETRY_WAIT') $$);
select i.status, i.phase, i.retry_count, regexp_replace(i.waiting_for, 'at \S+ \S+', 'at TIME') as waiting_for, i.steps from rea.instances i where i.biz_key = 'retryWaits';
select i.instance_id as waiting from rea.instances i where i.biz_key = 'retryWaits' \gset
select rea.retry_instance(:'waiting');
-- What retry_instance refuses
select i.instance_id as done from rea.instances i where i.biz_key = 'retryWell' \gset
select rea.retry_instance(:'done');
call regress.refused(format('select rea.retry_instance(%L)', :'done'));
call regress.refused($$ select rea.retry_instance('00000000-0000-7000-8000-000000000000') $$);
call regress.refused($$ select rea.retry_instance(null) $$);
-- An instance that failed on its result may be retried too; it fails on it again and sends nothing again.
select regress.define('{"workflowName": "retryResult", "triggerEvent": "retryResult", "actions": [{"name": "call", "type": "http", "config": {"url": "http://receiver/echo", "timeoutMs": 5000}}], "output": {"x": "${steps.call.output.missing}"}}');
call regress.run('retryResult', 'retryResult');
select rea.retry_instance(i.instance_id) as status from rea.instances i where i.biz_key = 'retryResult';
call regress.wait_until_still('retryResult');
select status, code, steps from regress.outcome('retryResult');
select count(*) as attempts from regress.attempts('retryResult');
-- timeoutSeconds covers everything, retries included.
select regress.define('{"workflowName": "retryDeadline", "triggerEvent": "retryDeadline", "timeoutSeconds": 1, "retryPolicy": {"maxRetries": 1000, "backoffMs": 50, "backoffMultiplier": 1}, "actions": [
    {"name": "call", "type": "http", "config": {"url": "http://receiver/status/503", "timeoutMs": 5000}}]}');
call regress.run('retryDeadline', 'retryDeadline');
select status, action, code, error, steps from regress.outcome('retryDeadline');
select d.status, d.action_name, d.error_code from rea.dead_letters d where d.biz_key = 'retryDeadline';
