-- Signals waiting instances to look again.
-- $1 instance ids
insert into rea.work_signal (instance_id) select s.id from unnest($1::uuid[]) s (id)
