-- Stores a version and puts it in force.
-- $1 workflow name, $2 version, $3 definition, $4 oid of the role that defines it
with named as (
    insert into rea.workflow (workflow_name, current_version, enabled, update_time)
    values ($1, $2, true, pg_catalog.clock_timestamp())
    on conflict (workflow_name) do update
    set current_version = excluded.current_version, enabled = true, update_time = excluded.update_time
    returning workflow_name
)
insert into rea.workflow_version (workflow_name, version, definition, defined_by, create_time)
select n.workflow_name, $2, $3, pg_catalog.pg_get_userbyid($4), pg_catalog.clock_timestamp() from named n
