-- Records what became of instances that this worker holds.
-- $1 rows, $2 now
-- What was learned is never forgotten: a null context leaves the stored one.
-- Guard: the version is still the one this worker read (A16). Returns the ids of the rows changed.
update rea.work_instance i
set deadline_time = c.deadline_time, status = c.status, current_action_index = c.current_action_index,
    retry_count = c.retry_count, version = c.version, update_time = $2, first_try_time = c.first_try_time,
    next_retry_time = c.next_retry_time, paused_time = c.paused_time, end_time = c.end_time,
    context = coalesce(c.context::jsonb, i.context), result = c.result::jsonb, error_code = c.error_code, error = c.error,
    end_status = c.end_status, compensation = c.compensation, undo_no = c.undo_no
from unnest($1::rea.instance_change[]) c
where i.instance_id = c.instance_id and i.version = c.guard_version
returning i.instance_id
