-- Creates instances; most are RUNNING at once.
-- $1 rows, $2 now
-- A child of a stored instance takes from it what its own row leaves out.
insert into rea.work_instance (
    instance_id, event_uid, create_time, workflow_version, route_version, workflow_name, route_name, biz_key, event_id,
    source, fired_by, parent_instance_id, parent_action, branch, item_index, item, detached, scripts, deadline_time, status,
    current_action_index, retry_count, version, update_time, first_try_time, next_retry_time, paused_time, end_time,
    context, result, error_code, error, end_status, compensation, undo_no)
select n.instance_id, n.event_uid, $2, n.workflow_version, coalesce(n.route_version, p.route_version), n.workflow_name,
       coalesce(n.route_name, p.route_name), n.biz_key, n.event_id, n.source, coalesce(n.fired_by, p.fired_by),
       n.parent_instance_id, n.parent_action, n.branch, n.item_index, n.item::jsonb, n.detached,
       n.scripts::jsonb, n.deadline_time, n.status, n.current_action_index, n.retry_count, n.version, $2,
       n.first_try_time, n.next_retry_time, n.paused_time, n.end_time, n.context::jsonb, n.result::jsonb,
       n.error_code, n.error, n.end_status, n.compensation, n.undo_no
from unnest($1::rea.new_instance[]) n
left join rea.work_instance p on p.instance_id = n.parent_instance_id and n.fired_by is null
