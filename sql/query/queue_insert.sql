-- Enters new instances into the queue.
-- $1 rows
insert into rea.work_queue (instance_id, due_time, deadline_time, owner_generation, attempt_no, lost_count, lane)
select q.instance_id, q.due_time, q.deadline_time, q.owner_generation, q.attempt_no, q.lost_count, q.lane
from unnest($1::rea.queue_change[]) q
