-- What others want of instances that this worker has in hand.
-- $1 own generation
-- Returns instance, request, whether to compensate, cause: cancel before pause.
select distinct on (r.instance_id) r.instance_id, r.request, r.compensate, r.cause
from rea.work_request r
join rea.work_queue q on q.instance_id = r.instance_id and q.owner_generation = $1
order by r.instance_id, r.request, r.compensate desc, r.request_id
