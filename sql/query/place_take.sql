-- Notes that instances have a place.
-- $1 instance ids
update rea.work_place p set taken = true where p.instance_id = any ($1::uuid[])
