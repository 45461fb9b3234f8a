-- Creates instances; most are RUNNING at once.
-- $1 rows, $2 now
insert into rea.work_instance (
    instance_id, event_uid, create_time, workflow_version, route_version, workflow_name, route_name, biz_key, event_id,
    source, fired_by, deadline_time, status, current_action_index, retry_count, version, update_time, first_try_time,
    next_retry_time, paused_time, end_time, context, result, error_code, error)
select n.instance_id, n.event_uid, $2, n.workflow_version, n.route_version, n.workflow_name, n.route_name, n.biz_key,
       n.event_id, n.source, n.fired_by, n.deadline_time, n.status, n.current_action_index, n.retry_count, n.version, $2,
       n.first_try_time, n.next_retry_time, n.paused_time, n.end_time, n.context::jsonb, n.result::jsonb,
       n.error_code, n.error
from unnest($1::rea.new_instance[]) n
