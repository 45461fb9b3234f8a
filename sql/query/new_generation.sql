-- Registers a worker start and gives it its generation.
-- $1 worker number, $2 pid
insert into rea.work_generation (worker_no, pid, start_time) values ($1, $2, pg_catalog.now()) returning generation
