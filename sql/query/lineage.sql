-- What the branches in hand may read of the instances above them, up to the one that runs the workflow.
-- $1 children
-- Returns child, steps up from it, the ancestor's block (parent action and branch of the ancestor; null for the
-- workflow's own actions), the action of the ancestor that leads to the child, and its outputs.
with recursive up as (
    select c.instance_id as child, 1 as distance, c.parent_instance_id as ancestor, c.parent_action as through
    from rea.work_instance c where c.instance_id = any ($1::uuid[]) and c.branch is not null
    union all
    select u.child, u.distance + 1, a.parent_instance_id, a.parent_action
    from up u
    join rea.work_instance a on a.instance_id = u.ancestor and a.branch is not null
)
select u.child, u.distance, case when a.branch is not null then a.parent_action end, a.branch, u.through, a.context::text
from up u
join rea.work_instance a on a.instance_id = u.ancestor
order by u.child, u.distance desc
