-- Locks an instance that a person wants to move on, if the caller may see it.
-- $1 instance id, $2 oid of the caller
-- Returns status, version, workflow name and version, action index, attempts made of that action, paused time and
-- deadline; no row when it does not exist or may not be seen. Lock: the instance, after its queue row if it has one.
with queued as materialized (
    select q.instance_id from rea.work_queue q where q.instance_id = $1 for update
)
select i.status, i.version, i.workflow_name, i.workflow_version, i.current_action_index,
       coalesce((
           select max(a.attempt_no) from rea.work_action_log a
           join rea.workflow_version v on v.workflow_name = i.workflow_name and v.version = i.workflow_version
           where a.instance_id = i.instance_id
             and a.action_name = v.definition -> 'actions' -> i.current_action_index ->> 'name'), 0),
       i.paused_time, i.deadline_time
from (select count(*) from queued) locked
cross join rea.work_instance i
where i.instance_id = $1
  and rea.may_see($2, i.fired_by)
for update of i
