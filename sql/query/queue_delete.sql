-- Removes the queue rows of instances that have ended.
-- $1 instance ids, $2 own generation. Guard: still owned by this generation.
delete from rea.work_queue c where c.instance_id = any ($1::uuid[]) and c.owner_generation = $2
