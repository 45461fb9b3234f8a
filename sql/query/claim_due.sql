-- Claims due instances, lane by lane, each up to the room it has.
-- $1 lanes, $2 room of each, $3 own generation, $4 now
-- Returns the columns of rea.held_instance, the queue row, and whether the change to RUNNING has its history row.
-- Lock: the queue rows, skipping locked ones; then the instances. Guard: free, due, and still PENDING or COMPENSATING
-- (A16). One that compensates keeps its status.
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
    set status = case r.status when 'PENDING' then 'RUNNING' else r.status end, version = r.version + 1, update_time = $4,
        next_retry_time = null, first_try_time = coalesce(r.first_try_time, $4)
    from q where r.instance_id = q.instance_id and r.status in ('PENDING', 'COMPENSATING')
    returning r.instance_id, r.event_uid, r.workflow_name, r.workflow_version, r.version, r.current_action_index,
              r.retry_count, r.first_try_time, r.update_time, r.deadline_time, r.context, r.biz_key, r.key_no, r.status,
              case when r.parent_instance_id is not null or r.scripts is not null or r.end_status is not null
                   then pg_catalog.jsonb_build_object(
                       'parent', r.parent_instance_id, 'parentAction', r.parent_action, 'branch', r.branch,
                       'itemIndex', r.item_index, 'item', r.item, 'detached', r.detached, 'scripts', r.scripts, 'endStatus', r.end_status,
                       'compensation', r.compensation, 'undoNo', r.undo_no, 'errorCode', r.error_code,
                       'error', r.error)::text end as extra,
              q.attempt_no, q.lost_count, q.lane
)
select i.instance_id, i.event_uid, i.workflow_name, i.workflow_version, i.version, i.current_action_index,
       i.retry_count, i.first_try_time, i.update_time, i.deadline_time, i.context::text, i.biz_key, i.key_no, i.status,
       i.extra, e.event_type, e.event_id, e.source, e.correlation_id, e.causation_id, e.attributes ->> 'traceparent',
       e.depth, e.payload, i.attempt_no, i.lost_count, i.lane, i.status = 'COMPENSATING'
from i
join rea.work_event e on e.event_uid = i.event_uid
