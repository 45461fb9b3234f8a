-- Takes over instances that a dead generation held.
-- $1 dead generation, $2 own generation, $3 how many
-- Returns their ids. Lock: the queue rows in order of id; the caller records the lost attempt with the instance's version
-- as guard.
with picked as (
    select d.instance_id from rea.work_queue d
    where d.owner_generation = $1 order by d.instance_id limit $3 for update
)
update rea.work_queue c set owner_generation = $2
from picked p where c.instance_id = p.instance_id
returning c.instance_id
