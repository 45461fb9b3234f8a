-- Asks that the live children of instances are cancelled or paused; each passes it on to its own.
-- $1 parents, $2 request of each, $3 cause of each, $4 now, $5 whether child workflows undo what they did, $6 the
-- action whose children are meant, null for all
-- What branches did is undone by the instance above them; they pass $5 on. A child that nobody waits for is left alone.
insert into rea.work_request (instance_id, request, compensate, cause, requested_by, create_time)
select c.instance_id, p.request, p.compensate, p.cause, current_user, $4
from unnest($1::uuid[], $2::text[], $3::text[], $5::boolean[], $6::text[]) p (parent, request, cause, compensate, action)
join rea.work_instance c on c.parent_instance_id = p.parent
where c.end_time is null and not c.detached and c.parent_action = coalesce(p.action, c.parent_action)
  and not (p.request = 'pause' and c.status = 'PAUSED')
