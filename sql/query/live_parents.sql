-- Which instances have children that have to be over before they can end.
-- $1 parents
-- A child workflow that nobody waits for lives on by itself. Returns their ids.
select p.id from unnest($1::uuid[]) p (id)
where exists (
    select from rea.work_instance c
    where c.parent_instance_id = p.id and c.end_time is null and not c.detached)
