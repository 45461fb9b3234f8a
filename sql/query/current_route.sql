-- The active version of a route and whether it says the same; else the latest version, inactive.
-- $1 route name, $2 event type, $3 workflow name, $4 group, $5 priority, $6 containment, $7 path, $8 from_workflow
select r.version, r.active, r.from_workflow,
       r.active and r.event_type = $2 and r.workflow_name = $3 and r.route_group = $4 and r.priority = $5
       and r.match_contains is not distinct from $6::jsonb and r.match_path::text is not distinct from $7::jsonpath::text
       and r.from_workflow = $8
from rea.route r
where r.route_name = $1
order by r.version desc limit 1
