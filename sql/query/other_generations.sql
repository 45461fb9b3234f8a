-- Generations beside the own one, oldest first; at a worker's start also those that only the queue knows, as a restored
-- queue does.
-- $1 own generation, $2 whether to read the queue too
select g.generation from rea.work_generation g where g.generation <> $1
union
select q.owner_generation from rea.work_queue q where $2 and q.owner_generation <> $1
order by 1
