-- How instances of workflows with concurrency stand in the queue for their key.
-- $1 instance ids
-- Returns instance, whether it has a place, and how many with its key have one or come before it; no row for one that
-- has not queued up yet. Runs after lock_places.sql, with a snapshot of its own.
select p.instance_id, p.taken,
       (select count(*) from rea.work_place o
        where o.workflow_name = p.workflow_name and o.place_key = p.place_key and (o.taken or o.turn < p.turn))
from rea.work_place p
where p.instance_id = any ($1::uuid[])
