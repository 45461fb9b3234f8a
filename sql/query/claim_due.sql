-- Claims due instances, lane by lane, each up to the room it has.
-- $1 lanes, $2 room of each, $3 own generation, $4 now
-- Last columns: whether the change to RUNNING already has its history row, and the number of the idempotency keys.
-- Lock: the queue rows, skipping locked ones; then the instances. Guard: free, due, and still PENDING (A16).
with picked as (
    select p.instance_id
    from unnest($1::text[], $2::integer[]) l (lane, room)
    cross join lateral (
        select d.instance_id from rea.work_queue d
        where d.lane = l.lane and d.due_time <= $4 and d.owner_generation is null
        order by d.due_time limit l.room for update skip locked) p
), q as (
    update rea.work_queue c set owner_generation = $3, attempt_no = c.attempt_no + 1
    from picked p where c.instance_id = p.instance_id
    returning c.instance_id, c.attempt_no, c.lost_count, c.lane
), i as (
    update rea.work_instance r
    set status = 'RUNNING', version = r.version + 1, update_time = $4, next_retry_time = null,
        first_try_time = coalesce(r.first_try_time, $4)
    from q where r.instance_id = q.instance_id and r.status = 'PENDING'
    returning r.instance_id, r.event_uid, r.workflow_name, r.workflow_version, r.version, r.current_action_index, r.retry_count, r.key_no,
              r.first_try_time, r.update_time, r.deadline_time, r.context, r.biz_key, q.attempt_no, q.lost_count, q.lane
)
select i.instance_id, i.event_uid, i.workflow_name, i.workflow_version, i.version, i.current_action_index,
       i.retry_count, i.first_try_time, i.update_time, i.deadline_time, i.context::text, i.biz_key,
       i.attempt_no, i.lost_count, i.lane,
       e.event_type, e.event_id, e.source, e.correlation_id, e.causation_id, e.attributes ->> 'traceparent', e.payload,
       false, i.key_no
from i
join rea.work_event e on e.event_uid = i.event_uid
