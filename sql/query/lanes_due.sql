-- All lanes that have free queue rows, with the earliest due time of each: a loose scan of the index (lane, due_time),
-- one step per lane.
with recursive lane as (
    (select q.lane from rea.work_queue q order by q.lane limit 1)
    union all
    select (select q.lane from rea.work_queue q where q.lane > l.lane order by q.lane limit 1)
    from lane l where l.lane is not null
)
select l.lane, d.due_time
from lane l
cross join lateral (
    select q.due_time from rea.work_queue q
    where q.lane = l.lane and q.owner_generation is null order by q.due_time limit 1) d
where l.lane is not null
