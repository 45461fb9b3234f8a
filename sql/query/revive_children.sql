-- Starts the children of retried instances again that ended without success, where they stopped.
-- $1 parents, $2 now, $3 the action of each that goes on
-- Only those of that action: what other actions started is over, or lives by itself. What was wanted of them then is
-- forgotten.
with revived as (
    update rea.work_instance i
    set status = 'PENDING', retry_count = 0, version = i.version + 1, update_time = $2, first_try_time = null,
        next_retry_time = null, end_time = null, error_code = null, error = null,
        end_status = null, compensation = null, undo_no = 0,
        deadline_time = case when i.branch is not null then p.deadline_time
                             else $2::timestamptz + (i.deadline_time - i.create_time) end
    from unnest($1::uuid[], $3::text[]) n (parent, action)
    join rea.work_instance p on p.instance_id = n.parent
    join rea.work_instance before on before.parent_instance_id = n.parent and before.parent_action = n.action
    where i.parent_instance_id = n.parent and not i.detached
      and before.instance_id = i.instance_id
      and i.status in ('FAILED', 'DEAD', 'CANCELLED') and coalesce(i.compensation, 'none') = 'none'
    returning i.instance_id, i.version, i.deadline_time, before.status as old_status
), logged as (
    insert into rea.work_instance_log (instance_id, log_id, create_time, old_status, new_status, cause)
    select r.instance_id, r.version, $2, r.old_status, 'PENDING', 'retry_instance' from revived r
), forgotten as (
    delete from rea.work_dead_letter d using revived r where d.instance_id = r.instance_id
), unasked as (
    delete from rea.work_request w using revived r where w.instance_id = r.instance_id
)
insert into rea.work_queue (instance_id, due_time, deadline_time, owner_generation, attempt_no, lost_count, lane)
select r.instance_id, $2, r.deadline_time, null,
       coalesce((select a.attempt_no from rea.work_action_log a
                 where a.instance_id = r.instance_id and a.status <> 'SKIPPED' order by a.log_id desc limit 1), 0),
       0, '~flow'
from revived r
