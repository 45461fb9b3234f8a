-- Sets a value of the configuration.
-- $1 key, $2 value, $3 oid of the role that sets it
insert into rea.config (key, value, updated_by, update_time)
values ($1, $2, pg_catalog.pg_get_userbyid($3), pg_catalog.clock_timestamp())
on conflict (key) do update
set value = excluded.value, updated_by = excluded.updated_by, update_time = excluded.update_time
