-- Records what is routed anew.
-- $1 now, $2 oid of the caller, $3 reason; and as arrays of equal length: $4 event uids, $5 route groups, $6 actions,
-- $7 instances that were stopped, $8 workflows chosen, $9 their versions
-- Runs before reroute_events.sql, so that the transaction has its xid before an inbox id is drawn (fire_event.sql).
insert into rea.work_reroute (event_uid, reroute_time, route_group, action, old_instance_id, workflow_name,
                              workflow_version, rerouted_by, reason)
select r.event_uid, $1, r.route_group, r.action, r.old_instance_id, r.workflow_name, r.workflow_version,
       pg_catalog.pg_get_userbyid($2), $3
from unnest($4::uuid[], $5::text[], $6::text[], $7::uuid[], $8::text[], $9::integer[])
     r (event_uid, route_group, action, old_instance_id, workflow_name, workflow_version)
