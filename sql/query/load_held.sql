-- Instances that this worker has just claimed, as they are now that nobody else may change them.
-- $1 instance ids
-- Returns the columns of rea.held_instance, the queue row, and whether the change to RUNNING, if it is that, has its
-- history row. In order of id.
select h.instance_id, h.event_uid, h.workflow_name, h.workflow_version, h.version, h.current_action_index,
       h.retry_count, h.first_try_time, h.update_time, h.deadline_time, h.context, h.biz_key, h.key_no, h.status,
       h.extra, h.event_type, h.event_id, h.source, h.correlation_id, h.causation_id, h.traceparent, h.depth,
       h.payload, q.attempt_no, q.lost_count, q.lane,
       h.status <> 'RUNNING' or coalesce((
           select l.new_status = 'RUNNING' from rea.work_instance_log l
           where l.instance_id = h.instance_id order by l.log_id desc limit 1), false)
from rea.work_queue q
join rea.held_instance h on h.instance_id = q.instance_id
where q.instance_id = any ($1::uuid[])
order by q.instance_id
