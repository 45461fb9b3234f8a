-- Claims free instances that somebody wants cancelled or paused.
-- $1 own generation, $2 how many
-- Returns their ids. One that is PAUSED needs no pause. Lock: the queue rows, skipping locked ones.
with picked as (
    select d.instance_id from rea.work_queue d
    where d.owner_generation is null
      and d.instance_id = any (array(
          select r.instance_id from rea.work_request r
          where r.request <> 'pause' or not exists (
              select from rea.work_instance i where i.instance_id = r.instance_id and i.status = 'PAUSED')
          order by r.request_id limit $2))
    order by d.instance_id for update skip locked
)
update rea.work_queue c set owner_generation = $1
from picked p where c.instance_id = p.instance_id
returning c.instance_id
