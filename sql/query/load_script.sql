-- The source of a version of a script.
-- $1 script name, $2 version
select s.source from rea.script s where s.script_name = $1 and s.version = $2
