-- Claims free instances whose deadline has passed, whatever their lane says.
-- $1 own generation, $2 now, $3 how many
-- Last columns: whether the change to RUNNING already has its history row, and the number of the idempotency keys.
-- Lock: the queue rows, skipping locked ones; a free one with a deadline is PENDING.
with picked as (
    select d.instance_id from rea.work_queue d
    where d.deadline_time <= $2 and d.owner_generation is null
    order by d.deadline_time limit $3 for update skip locked
), q as (
    update rea.work_queue c set owner_generation = $1
    from picked p where c.instance_id = p.instance_id
    returning c.instance_id, c.attempt_no, c.lost_count, c.lane
), i as (
    select r.instance_id, r.event_uid, r.workflow_name, r.workflow_version, r.version, r.current_action_index, r.retry_count, r.key_no,
           r.first_try_time, r.update_time, r.deadline_time, r.context, r.biz_key, q.attempt_no, q.lost_count, q.lane
    from q join rea.work_instance r on r.instance_id = q.instance_id and r.status = 'PENDING'
)
select i.instance_id, i.event_uid, i.workflow_name, i.workflow_version, i.version, i.current_action_index,
       i.retry_count, i.first_try_time, i.update_time, i.deadline_time, i.context::text, i.biz_key,
       i.attempt_no, i.lost_count, i.lane,
       e.event_type, e.event_id, e.source, e.correlation_id, e.causation_id, e.attributes ->> 'traceparent', e.payload,
       true, i.key_no
from i
join rea.work_event e on e.event_uid = i.event_uid
