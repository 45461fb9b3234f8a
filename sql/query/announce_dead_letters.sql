-- Marks dead letters as announced and tells what they are, grouped.
-- $1 now
-- Returns workflow, status, error code, how many, and one instance of each group.
with news as (
    update rea.work_dead_letter d set announced_time = $1 where d.announced_time is null
    returning d.workflow_name, d.status, d.error_code, d.instance_id
)
select n.workflow_name, n.status, n.error_code, count(*), min(n.instance_id::text)
from news n group by n.workflow_name, n.status, n.error_code order by count(*) desc, n.workflow_name
