-- Enters new instances into the queue.
-- $1 instance ids, $2 due times, $3 deadline times, $4 owner generations (null: free), $5 attempt numbers, $6 lanes
insert into rea.work_queue (instance_id, due_time, deadline_time, owner_generation, attempt_no, lost_count, lane)
select q.instance_id, q.due_time, q.deadline_time, q.owner_generation, q.attempt_no, 0, q.lane
from unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[], $4::bigint[], $5::integer[], $6::text[])
    q (instance_id, due_time, deadline_time, owner_generation, attempt_no, lane)
