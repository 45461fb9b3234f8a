-- Stores a schedule or replaces the one of that name, whose history (last_time, misfires) stays.
-- $1 schedule_name, $2 cron, $3 timezone, $4 event_type, $5 biz_key, $6 payload, $7 attributes, $8 catch_up,
-- $9 catch_up_limit, $10 paused, $11 next_time, $12 oid of the role that defines it, $13 now
insert into rea.schedule as s (schedule_name, cron, timezone, event_type, biz_key, payload, attributes, catch_up,
                               catch_up_limit, paused, next_time, misfires, defined_by, create_time, update_time)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0, pg_catalog.pg_get_userbyid($12), $13, $13)
on conflict (schedule_name) do update
set cron = excluded.cron, timezone = excluded.timezone, event_type = excluded.event_type, biz_key = excluded.biz_key,
    payload = excluded.payload, attributes = excluded.attributes, catch_up = excluded.catch_up,
    catch_up_limit = excluded.catch_up_limit, paused = excluded.paused, next_time = excluded.next_time, error = null,
    defined_by = excluded.defined_by, update_time = excluded.update_time
