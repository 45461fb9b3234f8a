-- Gives back instances that were claimed for nothing: what was wanted of them was done by somebody else meanwhile.
-- $1 instance ids, $2 own generation. Guard: owned by this generation.
update rea.work_queue c set owner_generation = null
where c.instance_id = any ($1::uuid[]) and c.owner_generation = $2
