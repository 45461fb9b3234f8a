-- Forgets what instances waited for.
-- $1 instance ids, $2 also the events that would cancel them
delete from rea.work_wait w where w.instance_id = any ($1::uuid[]) and ($2::boolean or w.action_name <> '')
