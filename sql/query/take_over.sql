-- Takes over instances that a dead generation held.
-- $1 dead generation, $2 own generation, $3 how many
-- Last columns: whether the change to RUNNING already has its history row, and the number of the idempotency keys.
-- Lock: the queue rows in order of id; then nothing: the caller records the lost attempt with the version as guard.
with picked as (
    select d.instance_id from rea.work_queue d
    where d.owner_generation = $1 order by d.instance_id limit $3 for update
), q as (
    update rea.work_queue c set owner_generation = $2
    from picked p where c.instance_id = p.instance_id
    returning c.instance_id, c.attempt_no, c.lost_count, c.lane
)
select i.instance_id, i.event_uid, i.workflow_name, i.workflow_version, i.version, i.current_action_index,
       i.retry_count, i.first_try_time, i.update_time, i.deadline_time, i.context::text, i.biz_key,
       q.attempt_no, q.lost_count, q.lane,
       e.event_type, e.event_id, e.source, e.correlation_id, e.causation_id, e.attributes ->> 'traceparent', e.payload,
       coalesce((
           select l.new_status = 'RUNNING' from rea.work_instance_log l
           where l.instance_id = i.instance_id order by l.log_id desc limit 1), false),
       i.key_no
from q
join rea.work_instance i on i.instance_id = q.instance_id
join rea.work_event e on e.event_uid = i.event_uid
