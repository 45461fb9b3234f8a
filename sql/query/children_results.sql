-- What the children of instances came to.
-- $1 parents, $2 the action of each that started them
-- Returns the number in $1, instance id, branch, status, outputs, result, error code and message of each child, in the
-- order in which they were started; of child workflows only the newest.
select p.place::integer, c.instance_id, c.branch, c.status, c.context::text, c.result::text, c.error_code, c.error
from unnest($1::uuid[], $2::text[]) with ordinality p (parent, action, place)
join rea.work_instance c on c.parent_instance_id = p.parent and c.parent_action = p.action
    and (c.branch is not null or not exists (
        select from rea.work_instance n
        where n.parent_instance_id = p.parent and n.parent_action = p.action and n.branch is null
          and n.instance_id > c.instance_id))
order by p.place, c.item_index, c.instance_id
