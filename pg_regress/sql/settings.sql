-- Settings: all of them are the server's, described, and a misspelt one is an error.
select name, setting, unit, context, vartype, min_val, max_val from pg_settings where name like 'rea.%' order by name;
select name as without_description from pg_settings where name like 'rea.%' and coalesce(short_desc, '') = '';
set rea.nonsense = 1;
set rea.worker = 2;
set rea.workers = 2;
set local rea.max_payload_bytes = 2048;
alter system set rea.workers = 17;
alter system set rea.nonsense = 1;
alter database postgres set rea.workers = 2;
-- A change is in force after a reload. A new session sees it at once: the server reads its files before it answers.
select current_database() as here \gset
alter system set rea.max_payload_bytes = '2kB';
select pg_reload_conf();
\c :here
call regress.refused($$ select rea.fire_event('settings.large', 'S-1', to_jsonb(repeat('x', 3000))) $$);
alter system reset rea.max_payload_bytes;
select pg_reload_conf();
\c :here
select rea.fire_event('settings.large', 'S-1', to_jsonb(repeat('x', 3000))) is not null as fired;
-- rea.enabled = off: events are stored and wait; they are taken up when it is on again.
alter system set rea.enabled = off;
select pg_reload_conf();
\c :here
select c.check_name, c.status, c.detail, c.remedy from rea.doctor() c where c.check_name = 'enabled';
select rea.fire_event('settings.off', 'S-2', event_id => 'S-2') as fired;
select rea.wait_operation('S-2', timeout_ms => 300) ->> 'status' as status;
alter system reset rea.enabled;
select pg_reload_conf();
\c :here
call regress.wait_until_still('S-2');
select rea.operation('S-2') ->> 'status' as status;
select c.check_name, c.status, c.detail, c.remedy from rea.doctor() c where c.check_name = 'enabled';
