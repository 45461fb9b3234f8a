-- Alerts: new dead letters and unrouted events are announced once, within rea.alert_interval.
select current_database() as here \gset
alter system set rea.alert_interval = '1s';
select pg_reload_conf();
\c :here
select regress.define('{"workflowName": "alertFlow", "triggerEvent": "alert.made", "retryPolicy": {"maxRetries": 0}, "actions": [{"name": "call", "type": "http", "config": {"url": "http://receiver/status/503", "timeoutMs": 5000}}]}') as version;
call regress.run('alert.made', 'AL-1');
call regress.run('alert.unrouted', 'AL-2');
call regress.wait_for($$ (select d.announced_time is not null from rea.dead_letters d where d.biz_key = 'AL-1') $$);
call regress.wait_for($$ (select u.announced_time is not null from rea.work_unrouted u join rea.work_event e using (event_uid) where e.biz_key = 'AL-2') $$);
select d.biz_key, d.status, d.announced_time > d.create_time as announced from rea.dead_letters d where d.biz_key = 'AL-1';
-- A dead letter that comes back after a retry is announced anew.
select rea.retry_instance(d.instance_id) as status from rea.dead_letters d where d.biz_key = 'AL-1';
call regress.wait_until_still('AL-1');
call regress.wait_for($$ (select d.announced_time is not null from rea.dead_letters d where d.biz_key = 'AL-1') $$);
alter system reset rea.alert_interval;
select pg_reload_conf();
