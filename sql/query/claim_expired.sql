-- Claims free instances whose deadline has passed, whatever their lane says.
-- $1 own generation, $2 now, $3 how many
-- Returns their ids. Lock: the queue rows, skipping locked ones; a free one with a deadline is PENDING or WAITING.
with picked as (
    select d.instance_id from rea.work_queue d
    where d.deadline_time <= $2 and d.owner_generation is null
    order by d.deadline_time limit $3 for update skip locked
)
update rea.work_queue c set owner_generation = $1
from picked p where c.instance_id = p.instance_id
returning c.instance_id
