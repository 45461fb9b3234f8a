-- Earliest due time among the free queue rows of some lanes; null where there is none.
-- $1 lanes
select l.lane, (
    select q.due_time from rea.work_queue q
    where q.lane = l.lane and q.owner_generation is null order by q.due_time limit 1)
from unnest($1::text[]) l (lane)
