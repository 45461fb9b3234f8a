-- Removes a generation that holds nothing any more.
-- $1 generation
delete from rea.work_generation g where g.generation = $1
