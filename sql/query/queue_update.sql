-- Changes the queue rows of instances that this worker holds: releases them, or notes the next attempt.
-- $1 rows (owner_generation null: released), $2 own generation
-- Guard: still owned by this generation.
update rea.work_queue c
set due_time = q.due_time, deadline_time = q.deadline_time, owner_generation = q.owner_generation,
    attempt_no = q.attempt_no, lost_count = q.lost_count, lane = q.lane
from unnest($1::rea.queue_change[]) q
where c.instance_id = q.instance_id and c.owner_generation = $2
