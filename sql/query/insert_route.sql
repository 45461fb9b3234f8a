-- Stores a version of a route; deactivate_route.sql has been run before.
-- $1 route name, $2 version, $3 event type, $4 workflow name, $5 group, $6 priority, $7 containment, $8 path,
-- $9 from_workflow, $10 oid of the role that defines it
insert into rea.route (route_name, version, active, event_type, workflow_name, route_group, priority, match_contains,
                       match_path, from_workflow, defined_by, create_time)
values ($1, $2, true, $3, $4, $5, $6, $7::jsonb, $8::jsonpath, $9, pg_catalog.pg_get_userbyid($10),
        pg_catalog.clock_timestamp())
