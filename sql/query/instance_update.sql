-- Records what became of instances that this worker holds.
-- $1 instance ids, $2 guard versions, $3 statuses, $4 action indexes, $5 retry counts, $6 versions, $7 first try times,
-- $8 next retry times, $9 paused times, $10 end times, $11 contexts, $12 results, $13 error codes, $14 errors, $15 now,
-- $16 deadline times
-- Guard: the version is still the one this worker read (A16). Returns the ids of the rows changed.
update rea.work_instance i
set deadline_time = c.deadline_time, status = c.status, current_action_index = c.current_action_index,
    retry_count = c.retry_count, version = c.version, update_time = $15, first_try_time = c.first_try_time,
    next_retry_time = c.next_retry_time, paused_time = c.paused_time, end_time = c.end_time,
    context = c.context::jsonb, result = c.result::jsonb, error_code = c.error_code, error = c.error
from unnest($1::uuid[], $2::integer[], $3::text[], $4::integer[], $5::integer[], $6::integer[], $7::timestamptz[],
            $8::timestamptz[], $9::timestamptz[], $10::timestamptz[], $11::text[], $12::text[], $13::text[],
            $14::text[], $16::timestamptz[])
    c (instance_id, guard_version, status, current_action_index, retry_count, version, first_try_time, next_retry_time,
       paused_time, end_time, context, result, error_code, error, deadline_time)
where i.instance_id = c.instance_id and i.version = c.guard_version
returning i.instance_id
