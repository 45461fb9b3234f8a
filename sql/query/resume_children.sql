-- Lets the paused instances below an instance go on.
-- $1 instance, $2 cause, $3 now
-- Time spent paused does not count. Lock: their queue rows in order of id, then the instances.
with recursive below as (
    select c.instance_id from rea.work_instance c where c.parent_instance_id = $1 and not c.detached
    union all
    select c.instance_id
    from below b
    join rea.work_instance c on c.parent_instance_id = b.instance_id and not c.detached
), queued as materialized (
    select q.instance_id from rea.work_queue q
    where q.instance_id = any (array(select b.instance_id from below b)) order by q.instance_id for update
), resumed as (
    update rea.work_instance i
    set status = 'PENDING', retry_count = 0, version = i.version + 1, update_time = $3,
        deadline_time = i.deadline_time + ($3 - i.paused_time), first_try_time = null, next_retry_time = null,
        paused_time = null, error_code = null, error = null
    from queued q where i.instance_id = q.instance_id and i.status = 'PAUSED'
    returning i.instance_id, i.version, i.deadline_time
), logged as (
    insert into rea.work_instance_log (instance_id, log_id, create_time, old_status, new_status, cause)
    select r.instance_id, r.version, $3, 'PAUSED', 'PENDING', $2 from resumed r
)
update rea.work_queue q
set due_time = $3, deadline_time = r.deadline_time, lost_count = 0, lane = '~flow'
from resumed r where q.instance_id = r.instance_id
