-- The newest version of a script, and whether it is in force and has the given source.
-- $1 script name, $2 source
select s.version, s.active, s.source = $2 collate "C"
from rea.script s where s.script_name = $1 order by s.version desc limit 1
