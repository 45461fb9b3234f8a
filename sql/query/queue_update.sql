-- Changes the queue rows of instances that this worker holds: releases them, or notes the next attempt.
-- $1 instance ids, $2 due times, $3 deadline times, $4 owner generations (null: released), $5 attempt numbers,
-- $6 lost counts, $7 lanes, $8 own generation
-- Guard: still owned by this generation.
update rea.work_queue c
set due_time = q.due_time, deadline_time = q.deadline_time, owner_generation = q.owner_generation,
    attempt_no = q.attempt_no, lost_count = q.lost_count, lane = q.lane
from unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[], $4::bigint[], $5::integer[], $6::integer[], $7::text[])
    q (instance_id, due_time, deadline_time, owner_generation, attempt_no, lost_count, lane)
where c.instance_id = q.instance_id and c.owner_generation = $8
