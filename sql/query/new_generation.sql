-- Registers a worker start and gives it its generation: the clock in microseconds, so that a copy of the database never
-- gives a number again that its claims carry.
-- $1 worker number, $2 pid
insert into rea.work_generation (generation, worker_no, pid, start_time)
select greatest((extract(epoch from pg_catalog.clock_timestamp()) * 1000000)::bigint, max(g.generation) + 1), $1, $2,
       pg_catalog.now()
from rea.work_generation g
returning generation
