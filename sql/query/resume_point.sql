-- Locks an instance that a person wants to move on or stop, if the caller may see it.
-- $1 instance id, $2 oid of the caller
-- Returns status, version, workflow name and version, action index, parent action and branch, paused time, deadline,
-- whether something was undone or is to be, the instance that it is a part of, and whether a pause is asked for; no row
-- when it does not exist or may not be seen. Lock: the instance, after its queue row if it has one.
with queued as materialized (
    select q.instance_id from rea.work_queue q where q.instance_id = $1 for update
)
select i.status, i.version, i.workflow_name, i.workflow_version, i.current_action_index, i.parent_action, i.branch,
       i.paused_time, i.deadline_time,
       i.end_status is not null or coalesce(i.compensation, 'none') <> 'none',
       case when not i.detached then i.parent_instance_id end,
       exists (select from rea.work_request r where r.instance_id = i.instance_id and r.request = 'pause')
from (select count(*) from queued) locked
cross join rea.work_instance i
where i.instance_id = $1
  and rea.may_see($2, i.fired_by)
for update of i
