-- doctor: a row per check; what is not ok comes with a remedy.
call regress.wait_for('not exists (select from rea.work_inbox)');
select c.check_name, c.status in ('ok', 'warning', 'error') as known_status, c.detail <> '' as has_detail, (c.status = 'ok') = (c.remedy is null) as remedy_when_needed from rea.doctor() c;
select c.check_name, c.status, regexp_replace(c.detail, '\d+(\.\d+)*', 'N', 'g') as detail, c.remedy from rea.doctor() c where c.check_name in ('preloaded', 'launcher', 'workers', 'versions', 'enabled', 'inbox', 'queue');
-- It notices: an unrouted event, a dead letter, a paused instance, a conflicting repeat.
select regress.define('{"workflowName": "illFlow", "triggerEvent": "ill.made", "retryPolicy": {"maxRetries": 0}, "actions": [{"name": "call", "type": "http", "config": {"url": "http://receiver/status/503", "timeoutMs": 5000}}]}'),
       regress.define('{"workflowName": "illPause", "triggerEvent": "ill.pause", "retryPolicy": {"maxRetries": 0}, "actions": [{"name": "call", "type": "http", "onError": "pause", "config": {"url": "http://receiver/status/503", "timeoutMs": 5000}}]}');
call regress.run('ill.made', 'I-1');
call regress.run('ill.pause', 'I-2');
call regress.run('ill.unrouted', 'I-3');
select rea.fire_event('ill.unrouted', 'I-4', event_id => 'I-4');
select rea.fire_event('ill.unrouted', 'I-5', event_id => 'I-4');
select c.check_name, c.status, regexp_replace(c.detail, '\d+', 'N') as detail, c.remedy from rea.doctor() c where c.check_name in ('unrouted', 'dead_letters', 'paused', 'repeats');
-- What the library knows of itself
select s - array['libraryVersion', 'launcherPid', 'conflictingRepeats'] as state, s ->> 'libraryVersion' = (select extversion from pg_extension where extname = 'rea') as same_version from rea.server_state() s;
