-- Earliest deadline among the free instances; no row when there is none.
select q.deadline_time from rea.work_queue q
where q.deadline_time is not null and q.owner_generation is null
order by q.deadline_time limit 1
