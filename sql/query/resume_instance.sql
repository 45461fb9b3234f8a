-- Makes an instance PENDING again at its resume point, with a full set of retries.
-- $1 instance id, $2 guard version, $3 cause, $4 now, $5 deadline, $6 name of the action, $7 lane, $8 whether
-- to use fresh idempotency keys
-- What was wanted of an instance that had ended is forgotten.
-- Guard: the version is still the one read (A16). No row processed: somebody else was faster.
with resumed as (
    update rea.work_instance i
    set status = 'PENDING', retry_count = 0, key_no = i.key_no + case when $8 then 1 else 0 end, version = i.version + 1, update_time = $4, deadline_time = $5,
        first_try_time = null, next_retry_time = null, paused_time = null, end_time = null, error_code = null,
        error = null, end_status = null, compensation = null, undo_no = 0
    from (select b.instance_id, b.status from rea.work_instance b where b.instance_id = $1) before
    where i.instance_id = $1 and i.version = $2 and before.instance_id = i.instance_id
    returning i.instance_id, i.version, before.status as old_status
), logged as (
    insert into rea.work_instance_log (instance_id, log_id, create_time, old_status, new_status, cause)
    select r.instance_id, r.version, $4, r.old_status, 'PENDING', $3 from resumed r
), forgotten as (
    delete from rea.work_dead_letter d using resumed r where d.instance_id = r.instance_id
), unasked as (
    delete from rea.work_request w using resumed r where w.instance_id = r.instance_id and r.old_status <> 'PAUSED'
)
insert into rea.work_queue as q (instance_id, due_time, deadline_time, owner_generation, attempt_no, lost_count, lane)
select r.instance_id, $4, $5, null,
       coalesce((select max(a.attempt_no) from rea.work_action_log a
                 where a.instance_id = r.instance_id and a.action_name = $6), 0),
       0, $7
from resumed r
on conflict (instance_id) do update
set due_time = excluded.due_time, deadline_time = excluded.deadline_time, lost_count = 0, lane = excluded.lane
