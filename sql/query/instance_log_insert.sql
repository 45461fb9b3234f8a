-- Writes a row per status change.
-- $1 rows
insert into rea.work_instance_log (instance_id, log_id, create_time, old_status, new_status, cause)
select h.instance_id, h.log_id, h.create_time, h.old_status, h.new_status, h.cause
from unnest($1::rea.status_change[]) h
