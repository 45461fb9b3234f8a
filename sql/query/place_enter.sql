-- Queues instances up for a place among those with the same key, in this order.
-- $1 instance ids, $2 workflow and $3 key of each
insert into rea.work_place (workflow_name, place_key, instance_id, taken)
select n.workflow_name, n.place_key, n.instance_id, false
from unnest($1::uuid[], $2::text[], $3::text[]) with ordinality n (instance_id, workflow_name, place_key, position)
order by n.position
on conflict (instance_id) do nothing
