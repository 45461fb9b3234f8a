-- How the children of instances stand.
-- $1 parents, $2 the action of each that started them
-- Returns for each parent that has some: its number in $1, children, live, succeeded, failed, dead and cancelled ones,
-- then branch, error code and message of the first that ended without success, and whether what it did was undone, so that
-- it cannot go on. Of child workflows only the newest counts: one that was undone is started anew.
select p.place::integer, count(*), count(*) filter (where c.end_time is null),
       count(*) filter (where c.status = 'SUCCESS'), count(*) filter (where c.status = 'FAILED'),
       count(*) filter (where c.status = 'DEAD'), count(*) filter (where c.status = 'CANCELLED'),
       (pg_catalog.array_agg(coalesce(c.branch, c.workflow_name) order by c.end_time, c.item_index)
           filter (where c.status in ('FAILED', 'DEAD', 'CANCELLED')))[1],
       (pg_catalog.array_agg(coalesce(c.error_code, '') order by c.end_time, c.item_index)
           filter (where c.status in ('FAILED', 'DEAD', 'CANCELLED')))[1],
       (pg_catalog.array_agg(coalesce(c.error, '') order by c.end_time, c.item_index)
           filter (where c.status in ('FAILED', 'DEAD', 'CANCELLED')))[1],
       coalesce(pg_catalog.bool_or(c.compensation in ('running', 'done', 'failed')), false)
from unnest($1::uuid[], $2::text[]) with ordinality p (parent, action, place)
join rea.work_instance c on c.parent_instance_id = p.parent and c.parent_action = p.action
    and (c.branch is not null or not exists (
        select from rea.work_instance n
        where n.parent_instance_id = p.parent and n.parent_action = p.action and n.branch is null
          and n.instance_id > c.instance_id))
group by p.place
order by p.place
