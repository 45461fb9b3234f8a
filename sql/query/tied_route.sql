-- Another active route that only chance could tell from the given one.
-- $1 route name, $2 event type, $3 group, $4 priority, $5 containment, $6 path
select r.route_name
from rea.route r
where r.active and r.route_name <> $1 and r.event_type = $2 and r.route_group = $3 and r.priority = $4
  and r.match_contains is not distinct from $5::jsonb and r.match_path::text is not distinct from $6::jsonpath::text
order by r.route_name limit 1
