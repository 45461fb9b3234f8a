-- What others want of instances that this worker has in hand.
-- $1 own generation
-- Returns instance, request, whether to compensate, cause: cancel before pause.
-- From the requests, which are few, to the queue, whatever the planner believes of their numbers.
select distinct on (r.instance_id) r.instance_id, r.request, r.compensate, r.cause
from rea.work_request r
cross join lateral (
    select q.owner_generation from rea.work_queue q where q.instance_id = r.instance_id offset 0) q
where q.owner_generation = $1
order by r.instance_id, r.request, r.compensate desc, r.request_id
