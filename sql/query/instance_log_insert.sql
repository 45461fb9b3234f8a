-- Writes a row per status change.
-- $1 instance ids, $2 log ids, $3 times, $4 old statuses, $5 new statuses, $6 causes
insert into rea.work_instance_log (instance_id, log_id, create_time, old_status, new_status, cause)
select h.instance_id, h.log_id, h.create_time, h.old_status, h.new_status, h.cause
from unnest($1::uuid[], $2::integer[], $3::timestamptz[], $4::text[], $5::text[], $6::text[])
    h (instance_id, log_id, create_time, old_status, new_status, cause)
