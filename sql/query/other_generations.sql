-- Generations beside the own one, oldest first.
-- $1 own generation
select g.generation from rea.work_generation g where g.generation <> $1 order by g.generation
