-- Enters instances that ended FAILED or DEAD into the dead letters.
-- $1 instance ids, $2 workflow names, $3 biz keys, $4 statuses, $5 action names, $6 error codes, $7 errors, $8 now
insert into rea.work_dead_letter (instance_id, create_time, workflow_name, biz_key, status, action_name, error_code, error)
select d.instance_id, $8, d.workflow_name, d.biz_key, d.status, d.action_name, d.error_code, d.error
from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
    d (instance_id, workflow_name, biz_key, status, action_name, error_code, error)
